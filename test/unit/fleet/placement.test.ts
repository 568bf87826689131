import { describe, expect, test } from "vitest";
import {
  countInName,
  indexStackName,
  placeWorkspaces,
  stackName,
  stackOf,
} from "../../../provider/fleet/placement.js";

const NAMES = Array.from({ length: 3000 }, (_, index) => `customer-${String(index).padStart(4, "0")}`);

const placesOf = (names: readonly string[], count: number): Map<string, number> =>
  new Map(names.map((name) => [name, stackOf(name, count)]));

describe("the stack of a workspace", () => {
  // Frozen: another answer would delete the live webhooks of everybody who has a fleet.
  test.each([
    ["acme", 0, 1, 7, 833],
    ["globex", 0, 0, 4, 740],
    ["initech", 0, 3, 13, 210],
    ["umbrella", 0, 3, 16, 738],
    ["hooli", 0, 3, 3, 3],
    ["stark-industries", 0, 3, 13, 607],
    ["wayne.enterprises", 0, 2, 4, 431],
    ["customer_0042", 0, 1, 10, 10],
    ["A", 0, 2, 6, 32],
    ["a", 0, 0, 9, 857],
    ["0", 0, 2, 10, 477],
    ["customer-2999", 0, 2, 9, 946],
  ])("is for ever the same: %s", (name, of1, of4, of20, of999) => {
    expect([1, 4, 20, 999].map((count) => stackOf(name, count))).toEqual([of1, of4, of20, of999]);
  });

  test("does not change when another workspace comes or goes", () => {
    const before = placesOf(NAMES, 20);
    const after = placesOf(["aaa-new", ...NAMES.filter((name) => name !== "customer-1500")], 20);
    const moved = [...after].filter(([name, index]) => before.has(name) && before.get(name) !== index);
    expect(moved).toEqual([]);
  });

  test("is one of 30 that 3,000 workspaces fill evenly: each has 100, give or take a third", () => {
    const sizes = [...Map.groupBy(NAMES, (name) => stackOf(name, 30)).values()].map(({ length }) => length);
    expect(sizes).toHaveLength(30);
    expect(Math.min(...sizes)).toBeGreaterThan(67);
    expect(Math.max(...sizes)).toBeLessThan(133);
  });

  test("changes with one stack more only for those that move into the new one", () => {
    const moved = NAMES.filter((name) => stackOf(name, 30) !== stackOf(name, 31));
    expect(new Set(moved.map((name) => stackOf(name, 31)))).toEqual(new Set([30]));
    // A share of one in 31 is 97.
    expect(moved.length).toBeGreaterThan(64);
    expect(moved.length).toBeLessThan(130);
  });
});

describe("the name of a stack", () => {
  test("holds index and count, and sorts as the index does", () => {
    expect(stackName("production", 7, 20)).toBe("production-07-of-20");
    expect(stackName("production", 0, 1)).toBe("production-0-of-1");
    const names = Array.from({ length: 101 }, (_, index) => stackName("production", index, 101));
    expect(names.toSorted()).toEqual(names);
    expect(indexStackName("production")).toBe("production-index");
  });

  test("gives its count back, and none if it is no stack of the fleet", () => {
    expect(countInName("production", stackName("production", 7, 20))).toBe(20);
    const others = [
      "production-index",
      "staging-07-of-20",
      "eu-production-07-of-20",
      "production-07-of-20-old",
    ];
    expect(others.map((name) => countInName("production", name))).toEqual(others.map(() => undefined));
  });
});

test("all stacks of a split hold each workspace once, also with more stacks than workspaces", () => {
  const workspaces = NAMES.slice(0, 60).map((name) => ({ name, baseUrl: "https://platform.example/" }));
  const stacks = placeWorkspaces("production", workspaces, 100);
  expect(stacks.map(({ name, index }) => [name, index])).toEqual(
    stacks.map((_, index) => [stackName("production", index, 100), index]),
  );
  for (const { index, workspaces: own } of stacks) {
    expect(own).toEqual(workspaces.filter(({ name }) => stackOf(name, 100) === index));
  }
});
