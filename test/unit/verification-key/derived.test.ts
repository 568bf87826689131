import { expect, test } from "vitest";
import { deriveVerificationKeys } from "../../../provider/responder/derive.js";
import { OTHER_SEED, SEED } from "../../support/derived-keys.ts";
import { catchLines, checked, create, hasChanges, LIVE_KEY, up, type Args } from "./harness.js";

const lines = catchLines();

const NOW = { derivedFrom: SEED, rotations: ["2026-12", "2026-09"] };
const NEXT = { derivedFrom: SEED, rotations: ["2027-03", "2026-12"] };
const keysOf = (
  { derivedFrom, rotations }: { derivedFrom: string | string[]; rotations: string[] },
  subject = "acme",
) => deriveVerificationKeys(derivedFrom, { subject, rotations });

test("the subject defaults to the name, no state contains the seed, and the keys are reproducible", async () => {
  const inputs = await checked(NOW);
  const state = await create(NOW);
  const keys = await keysOf(NOW);
  expect(inputs).toEqual({ name: "acme", subject: "acme", rotations: NOW.rotations, current: keys[0], keys });
  expect(state).toEqual({ ...inputs, keep: 2, bytes: 32, derived: 2, stateVersion: 1 });
  expect(JSON.stringify([inputs, state])).not.toContain(SEED);
  expect((await create(NOW)).keys).toEqual(state.keys);
});

test("a derived key rotates when its arguments change, and the new key is known in a preview", async () => {
  const state = await create(NOW);
  expect(await hasChanges(state, NOW)).toBe(false);
  const keys = await keysOf(NEXT);
  expect(await checked(NEXT, { name: "acme" })).toMatchObject({ current: keys[0], keys });
  expect((await up(state, NEXT)).keys).toEqual(keys);
  expect(lines).toContain("acme: the key derived for rotation 2027-03 becomes the current one");
});

test("a derived key can change its seed, and keeps the keys of the previous seed", async () => {
  const state = await create(NOW);
  const both = { ...NOW, derivedFrom: [OTHER_SEED, SEED] };
  const next = await up(state, both);
  expect(next.keys).toEqual(await keysOf(both));
  expect(next.keys).toEqual(expect.arrayContaining(state.keys));
  expect(lines).toEqual([expect.stringContaining("derived for rotation 2026-12")]);
});

test("changing from a random to a derived key keeps the random one until keep is 0", async () => {
  const random = await create({ initial: LIVE_KEY });
  const moved = await up(random, NOW);
  expect(moved.keys).toEqual([...(await keysOf(NOW)), LIVE_KEY]);
  const rotated = await up(moved, NEXT);
  expect(rotated.keys).toEqual([...(await keysOf(NEXT)), LIVE_KEY]);
  expect(await hasChanges(rotated, NEXT)).toBe(false);
  expect((await up(rotated, { ...NEXT, keep: 0 })).keys).toEqual(await keysOf(NEXT));
});

test.each<[string, Args]>([
  ["rotation", { ...NOW, rotations: ["2027-03"] }],
  ["seed", { ...NOW, derivedFrom: OTHER_SEED }],
  ["subject", { ...NOW, subject: "globex" }],
])("with a different %s, warns that the replaced key is no longer derived", async (_what, args) => {
  await hasChanges(await create(NOW), args);
  expect(lines).toContainEqual(
    expect.stringMatching(/^acme: warning: the replaced key is no longer derived/),
  );
});
