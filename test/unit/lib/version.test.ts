import { expect, test } from "vitest";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { isOlder, LEAST_NODE, LEAST_PULUMI, VERSION } from "../../../provider/lib/version.js";

test("the version, and those that are needed, are those of package.json", () => {
  const { version, engines, peerDependencies } = packageJson;
  expect(version).toBe(VERSION);
  expect(engines.node).toBe(`>=${LEAST_NODE}`);
  expect(peerDependencies["@pulumi/pulumi"]).toBe(`>=${LEAST_PULUMI} <4`);
});

test.each([
  ["20.20.2", true],
  ["22.18.9", true],
  ["22.9.0", true],
  ["22.19.0", false],
  ["v24.1.0", false],
  ["22.19.0-nightly1", false],
])("%s is older than 22.19: %s", (version, expected) => {
  expect(isOlder(version, "22.19")).toBe(expected);
});
