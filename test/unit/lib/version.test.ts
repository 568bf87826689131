import { expect, test } from "vitest";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { VERSION } from "../../../provider/lib/version.js";

test("the version is that of package.json", () => {
  expect(VERSION).toBe(packageJson.version);
});
