import { expect, it, onTestFinished, vi } from "vitest";
import { deriveVerificationKeys, MAX_ROTATIONS, MAX_SEEDS } from "../../../provider/responder/derive.js";
import { DERIVED, SEED } from "../../support/derived-keys.ts";

it.each(DERIVED)(
  "derives the same keys as another implementation, vector %#",
  async (seed, subject, rotations, keys) => {
    expect(await deriveVerificationKeys(seed, { subject, rotations })).toEqual(keys);
  },
);

const derive = (subject: string) => deriveVerificationKeys(SEED, { subject, rotations: ["1"] });

it("caches derived keys, but only those of a limited number of subjects", async () => {
  // Mocked, because this many derivations would take too long.
  const deriveBits = vi.spyOn(crypto.subtle, "deriveBits").mockResolvedValue(new ArrayBuffer(32));
  const importKey = vi.spyOn(crypto.subtle, "importKey").mockResolvedValue({} as never);
  onTestFinished(() => [deriveBits, importKey].forEach((spy) => spy.mockRestore()));
  for (let index = 0; index < 20_000; index++) await derive(`workspace-${index}`);
  for (const busy of [1, 2]) await derive(`workspace-${20_000 - busy}`);
  expect(deriveBits).toHaveBeenCalledTimes(20_000);
  await derive("workspace-0");
  expect(deriveBits).toHaveBeenCalledTimes(20_001);
});

const LINE = "must be a string of 1 to 128 characters without control characters";
const many = Array.from({ length: MAX_ROTATIONS + 1 }, (_, index) => `${index}`);

it.each<[problem: string, given: Partial<{ seed: unknown; subject: string; rotations: string[] }>]>([
  [
    "seed: must contain at least 32 random bytes, got a string of 48 characters, which can contain 24 at most",
    { seed: "0123456789abcdef".repeat(3) },
  ],
  ["seed: must be random, got a string of only 7 different characters", { seed: "password".repeat(10) }],
  ["seed: must have no surrounding whitespace", { seed: `${SEED}\n` }],
  [`seed: must be a string or a list of 1 to ${MAX_SEEDS} strings, got a list of 0`, { seed: [] }],
  [`got a list of ${MAX_SEEDS + 1}`, { seed: Array<string>(MAX_SEEDS + 1).fill(SEED) }],
  ["seed: [1] must contain", { seed: [SEED, "short"] }],
  [`rotations: must be a list of 1 to ${MAX_ROTATIONS} names, got 0`, { rotations: [] }],
  [`got ${MAX_ROTATIONS + 1}`, { rotations: many }],
  ["rotations: must name each rotation only once", { rotations: ["1", "1"] }],
  ["rotations: [1] must be a string of 1 to 128", { rotations: ["1", ""] }],
  [`subject: ${LINE}`, { subject: "a\nb" }],
  [`subject: ${LINE}`, { subject: "a".repeat(129) }],
  [`subject: ${LINE}`, { subject: "\ud800" }],
])("rejects invalid input without quoting a seed: %s", async (problem, { seed = SEED, ...more }) => {
  const options = { subject: "acme", rotations: ["1"], ...more };
  const error = await deriveVerificationKeys(seed as string, options).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TypeError);
  expect(String(error)).toContain(problem);
  for (const secret of [seed].flat()) expect(String(error)).not.toContain(secret);
});
