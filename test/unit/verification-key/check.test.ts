import { expect, test } from "vitest";
import { UNKNOWN } from "../../../provider/pulumi/unknown.js";
import { VerificationKey, catchLines, checked, LIVE_KEY, OTHER_KEY, type Args } from "./harness.js";

const lines = catchLines();

const failuresOf = async (args: Args) =>
  (await VerificationKey.check({}, { name: "acme", ...args })).failures;

test.each<Args>([
  {},
  { rotation: "2026-12", keep: 0, bytes: 16 },
  { keep: 10, bytes: 64 },
  { rotation: UNKNOWN, keep: UNKNOWN, bytes: UNKNOWN, initial: UNKNOWN },
])("%j passes unchanged, without a warning", async (args) => {
  expect(await checked(args)).toEqual({ name: "acme", ...args });
  expect(lines).toEqual([]);
});

test("a null argument, which is what undefined resolves to, counts as missing", async () => {
  const empty = { rotation: null, keep: null, bytes: null, initial: null, current: null, keys: null };
  expect(await checked(empty)).toEqual({ name: "acme" });
});

test("a weak key causes a warning that does not show it", async () => {
  await checked({ initial: "fifteen-charact" });
  expect(lines).toEqual([expect.stringMatching(/^acme: warning: initial has fewer than 16 characters/)]);
  expect(lines.join()).not.toContain("fifteen-charact");
});

test.each<[string, Args, Args, Args]>([
  [
    "known for a create that adopts a live key",
    {},
    { initial: LIVE_KEY },
    { current: LIVE_KEY, keys: [LIVE_KEY] },
  ],
  ["unknown if the live key is not known yet", {}, { initial: UNKNOWN }, {}],
  [
    "unknown for an existing key, which may have rotated since",
    { initial: OTHER_KEY },
    { initial: LIVE_KEY },
    {},
  ],
])("in a preview, keys are %s", async (_, before, args, foreseen) => {
  const given = { ...args, current: args["initial"], keys: [args["initial"]] };
  const olds = before["initial"] === undefined ? {} : { name: "acme", ...before };
  expect(await checked(given, olds)).toEqual({ name: "acme", ...args, ...foreseen });
});

test.each<[Args, string, RegExp]>([
  [{ rotation: "" }, "rotation", /^rotation: must be a non-empty string, got ""; for example/],
  [{ rotation: 202612 }, "rotation", /^rotation: must be a non-empty string, got 202612; for example/],
  [{ keep: -1 }, "keep", /^keep: must be a whole number from 0 to 10, got -1; leave it out for 2$/],
  [{ keep: 1.5 }, "keep", /got 1\.5;/],
  [{ bytes: 15 }, "bytes", /^bytes: must be a whole number from 16 to 64, got 15; leave it out for 32$/],
  [{ bytes: 65 }, "bytes", /got 65;/],
  [{ initial: "" }, "", /^initial: must be non-empty, got an empty string; make one/],
  [
    { initial: " padded-key-0123456 " },
    "",
    /^initial: must be without leading or trailing whitespace, got 20/,
  ],
])("%j is rejected, with the value, the accepted values and the fix", async (args, property, reason) => {
  expect(await failuresOf(args)).toEqual([{ property, reason: expect.stringMatching(reason) as string }]);
});

test("all problems are reported at once, without any part of the key", async () => {
  const failures = await failuresOf({ rotation: "", keep: 99, bytes: 1, initial: `${LIVE_KEY} ` });
  expect(failures.map(({ property }) => property)).toEqual(["rotation", "keep", "bytes", ""]);
  expect(JSON.stringify(failures)).not.toContain("vk/live");
});
