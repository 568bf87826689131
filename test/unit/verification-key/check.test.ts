import { expect, test } from "vitest";
import { UNKNOWN } from "../../../provider/pulumi/unknown.js";
import { SEED } from "../../support/derived-keys.js";
import { VerificationKey, catchLines, checked, LIVE_KEY, type Args } from "./harness.js";

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

test.each<Args>([
  { derivedFrom: UNKNOWN, rotations: ["2026-12"] },
  { derivedFrom: SEED, rotations: UNKNOWN },
  { derivedFrom: SEED, rotations: [UNKNOWN] },
  { derivedFrom: SEED, rotations: ["2026-12"], subject: UNKNOWN },
])("keys derived from an unknown value are unknown: %j", async (args) => {
  expect(await checked(args)).toMatchObject({ current: UNKNOWN, keys: [UNKNOWN] });
});

test("a weak key causes a warning that does not show the key", async () => {
  await checked({ initial: "fifteen-charact" });
  expect(lines).toEqual([expect.stringMatching(/^acme: warning: initial has fewer than 16 characters/)]);
  expect(lines.join()).not.toContain("fifteen-charact");
});

test.each<[string, Args, Args, Args]>([
  ["known if a live key is adopted", {}, { initial: LIVE_KEY }, { current: LIVE_KEY, keys: [LIVE_KEY] }],
  ["unknown while the live key is unknown", {}, { initial: UNKNOWN }, {}],
  ["unknown when an update may rotate them", { name: "acme", initial: "1" }, { initial: LIVE_KEY }, {}],
])("in a preview, keys are %s", async (_, olds, args, foreseen) => {
  const given = { ...args, current: args["initial"], keys: [args["initial"]] };
  expect(await checked(given, olds)).toEqual({ name: "acme", ...args, ...foreseen });
});

const derived = { derivedFrom: SEED, rotations: ["2026-12"] };

// The rules for seeds, subjects and rotations are tested with the derivation (test/unit/responder/derive.test.ts).
test.each<[Args, string, RegExp]>([
  [{ rotation: "" }, "rotation", /^rotation: must be a non-empty string, got ""; for example/],
  [{ rotation: 202612 }, "rotation", /^rotation: must be a non-empty string, got 202612; for example/],
  [{ keep: -1 }, "keep", /^keep: must be a whole number from 0 to 10, got -1; the default is 2$/],
  [{ bytes: 15 }, "bytes", /^bytes: must be a whole number from 16 to 64, got 15; the default is 32$/],
  [{ bytes: 64.5 }, "bytes", /got 64\.5;/],
  [{ initial: "" }, "", /^initial: must be non-empty, got an empty string; make one/],
  [{ initial: `${LIVE_KEY} ` }, "", /^initial: must be without leading or trailing whitespace, got/],
  [{ ...derived, derivedFrom: "short-seed" }, "", /^derivedFrom: must contain at least 32 random bytes/],
  [{ ...derived, derivedFrom: [SEED, 7] }, "", /^derivedFrom: \[1\] must be a string/],
  [{ derivedFrom: SEED }, "rotations", /^rotations: must be a list of 1 to 10 names/],
  [{ ...derived, subject: "" }, "subject", /^subject: must be a string of 1 to 128/],
  [{ ...derived, rotation: "1" }, "rotation", /^rotation: is for random keys/],
  [{ ...derived, bytes: 32 }, "bytes", /^bytes: is for random keys/],
  [{ ...derived, initial: LIVE_KEY }, "", /^initial: is for random keys/],
  [{ subject: "acme" }, "subject", /^subject: is for derived keys/],
  [{ rotations: ["1"] }, "rotations", /^rotations: is for derived keys/],
])("%j is rejected, and the error contains no part of a key or seed", async (args, property, reason) => {
  const failures = await failuresOf(args);
  expect(failures).toEqual([{ property, reason: expect.stringMatching(reason) as string }]);
  expect(JSON.stringify(failures)).not.toMatch(/vk\/live|short-seed|a9Zt0/);
});
