import { describe, expect, test } from "vitest";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { isOlder, LEAST_NODE, LEAST_PULUMI } from "../../../provider/lib/version.js";

describe("a version", () => {
  test.each([
    ["20.20.2", "22.19", true],
    ["22.18.9", "22.19", true],
    ["22.9.0", "22.19", true],
    ["22.19.0", "22.19", false],
    ["v24.1.0", "22.19", false],
    ["22.19.0-nightly1", "22.19", false],
  ])("%s is older than %s: %s", (version, least, expected) => {
    expect(isOlder(version, least)).toBe(expected);
  });

  test("that is needed is that of package.json", () => {
    expect(`>=${LEAST_NODE}`).toBe(packageJson.engines.node);
    expect(`>=${LEAST_PULUMI} <4`).toBe(packageJson.peerDependencies["@pulumi/pulumi"]);
  });
});
