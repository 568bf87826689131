import { expect, test } from "vitest";
import { countInName, indexStackName, stackName, stackOf } from "../../../provider/fleet/placement.js";

const NAMES = Array.from({ length: 3000 }, (_, index) => `customer-${String(index).padStart(4, "0")}`);

// Never change these numbers: workspaces would move, and their old stacks would delete the live webhooks.
test.each([
  ["acme", 0, 1, 7, 833],
  ["globex", 0, 0, 4, 740],
  ["stark-industries", 0, 3, 13, 607],
  ["wayne.enterprises", 0, 2, 4, 431],
  ["customer_0042", 0, 1, 10, 10],
  ["A", 0, 2, 6, 32],
  ["a", 0, 0, 9, 857],
  ["0", 0, 2, 10, 477],
])("the stack of %s never changes", (name, of1, of4, of20, of999) => {
  expect([1, 4, 20, 999].map((count) => stackOf(name, count))).toEqual([of1, of4, of20, of999]);
});

test("30 stacks are filled evenly, and adding a 31st moves workspaces only into that one", () => {
  const sizes = [...Map.groupBy(NAMES, (name) => stackOf(name, 30)).values()].map(({ length }) => length);
  expect(sizes).toHaveLength(30);
  // Each of the 30 stacks has 100 workspaces, plus or minus a third.
  expect(sizes.filter((size) => size < 67 || size > 133)).toEqual([]);
  const moved = NAMES.filter((name) => stackOf(name, 30) !== stackOf(name, 31));
  expect(new Set(moved.map((name) => stackOf(name, 31)))).toEqual(new Set([30]));
});

test("a stack's name contains its index and the number of stacks, which can be read back; names sort by index", () => {
  expect(stackName("production", 7, 20)).toBe("production-07-of-20");
  const names = Array.from({ length: 101 }, (_, index) => stackName("production", index, 101));
  expect(names.toSorted()).toEqual(names);
  expect(indexStackName("production")).toBe("production-index");
  expect(countInName("production", "production-07-of-20")).toBe(20);
  for (const other of ["production-index", "eu-production-07-of-20", "production-07-of-20-old"]) {
    expect(countInName("production", other), other).toBeUndefined();
  }
});
