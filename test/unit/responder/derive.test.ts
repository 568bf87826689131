import { expect, it, vi } from "vitest";
import {
  deriveVerificationKeys,
  hkdf,
  MOST_ROTATIONS,
  MOST_SEEDS,
} from "../../../provider/responder/derive.js";
import { DERIVED, RFC_5869, SEED } from "../../support/derived-keys.ts";

it.each(RFC_5869)("is HKDF-SHA256: RFC 5869, vector %#", async ({ secret, salt, info, output }) => {
  expect(await hkdf({ secret, salt, info, bytes: output.length })).toEqual(output);
});

it.each(DERIVED)(
  "derives the keys of another implementation, vector %#",
  async (seed, subject, rotations, keys) => {
    expect(await deriveVerificationKeys(seed, { subject, rotations })).toEqual(keys);
  },
);

it("derives once, and gives each caller a list of its own", async () => {
  const options = { subject: "once", rotations: ["1", "2"] };
  const keys = await deriveVerificationKeys(SEED, options);
  keys.length = 0;
  const deriveBits = vi.spyOn(crypto.subtle, "deriveBits");
  expect(await deriveVerificationKeys(SEED, { ...options })).toHaveLength(2);
  expect(deriveBits).not.toHaveBeenCalled();
  deriveBits.mockRestore();
});

it("gives 20,000 subjects different keys, keeps the busy ones, and not all", async () => {
  const rotations = ["1"];
  const derive = (subject: string) => deriveVerificationKeys(SEED, { subject, rotations });
  await derive("idle");
  await derive("busy");
  const keys = new Set<string>();
  for (let index = 0; index < 20_000; index++) {
    for (const key of await derive(`workspace-${index}`)) keys.add(key);
    if (index % 1000 === 0) await derive("busy");
  }
  expect(keys.size).toBe(20_000);
  const deriveBits = vi.spyOn(crypto.subtle, "deriveBits");
  await derive("busy");
  expect(deriveBits).not.toHaveBeenCalled();
  await derive("idle");
  expect(deriveBits).toHaveBeenCalledOnce();
  deriveBits.mockRestore();
});

const text = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

it.each([
  [
    "a short seed",
    "Zt0pQ3vK8mW1xR5yB7n",
    {},
    "seed: must hold at least 32 random bytes, got a text for at most 14",
  ],
  [
    "a short seed in hex",
    "0123456789abcdef".repeat(3),
    {},
    "seed: must hold at least 32 random bytes, got a text for at most 24",
  ],
  [
    "a seed that repeats itself",
    "password".repeat(10),
    {},
    "seed: must be random, got a text of only 7 different characters",
  ],
  ["a seed with a line break", `${SEED}\n`, {}, "seed: must have no white space"],
  ["no seed", undefined as never, {}, "seed: must be a text"],
  ["a list without a seed", [], {}, `seed: must be a text or a list of 1 to ${MOST_SEEDS}, got a list of 0`],
  ["too many seeds", Array<string>(MOST_SEEDS + 1).fill(SEED), {}, `got a list of ${MOST_SEEDS + 1}`],
  ["a bad seed in a list", [SEED, "short"], {}, "seed: [1] must hold"],
  [
    "no rotation",
    SEED,
    { rotations: [] },
    `rotations: must be a list of 1 to ${MOST_ROTATIONS} names, got 0`,
  ],
  ["too many rotations", SEED, { rotations: text(MOST_ROTATIONS + 1) }, `got ${MOST_ROTATIONS + 1}`],
  ["a rotation twice", SEED, { rotations: ["1", "1"] }, "rotations: must name each rotation once"],
  ["an empty rotation", SEED, { rotations: ["1", ""] }, "rotations: [1] must be a text of 1 to 128"],
  ["an empty subject", SEED, { subject: "" }, "subject: must be a text of 1 to 128"],
  [
    "a subject of two lines",
    SEED,
    { subject: "a\nb" },
    "subject: must be a text of 1 to 128 characters without control characters",
  ],
  ["a subject of a hostile length", SEED, { subject: "a".repeat(129) }, "subject: must be"],
  ["half of a character", SEED, { subject: "\ud800" }, "subject: must be"],
])("refuses %s, and quotes no seed", async (_name, seed, given, problem) => {
  const failing = deriveVerificationKeys(seed, { subject: "acme", rotations: ["1"], ...given });
  const error = await failing.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TypeError);
  expect(String(error)).toContain(problem);
  for (const secret of [seed].flat().filter((one) => one !== undefined))
    expect(String(error)).not.toContain(secret);
});
