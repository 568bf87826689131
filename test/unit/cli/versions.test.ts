import { describe, expect, test } from "vitest";
import { isOlder, LEAST_NODE } from "../../../provider/cli/doctor/versions.js";

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

  test("of Node that is needed is that of the package, and this one is new enough", () => {
    expect(LEAST_NODE).toMatch(/^\d+\.\d+$/);
    expect(isOlder(process.versions.node, LEAST_NODE)).toBe(false);
  });
});
