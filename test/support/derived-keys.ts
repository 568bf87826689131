import vectors from "../../schema/vectors.json" with { type: "json" };

/**
 * Test vectors of the key derivation, computed with `openssl kdf` of OpenSSL 3.0. On every runtime, every
 * release must derive exactly these keys.
 */
export const DERIVED = vectors.derivedKeys.map(
  ({ seeds, subject, rotations, keys }): [string | string[], string, string[], string[]] => [
    seeds.length === 1 ? (seeds[0] ?? "") : seeds,
    subject,
    rotations,
    keys,
  ],
);
export const [OTHER_SEED = "", SEED = ""] =
  vectors.derivedKeys.find(({ seeds }) => seeds.length > 1)?.seeds ?? [];
