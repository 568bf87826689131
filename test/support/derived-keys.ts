/** Vectors of the derivation, made with `openssl kdf` of OpenSSL 3.0: the same keys in every runtime, for ever. */
export const SEED = "a9Zt0pQ3vK8mW1xR5yB7nC2dF4gH6jL0sT8uV3eX1qY=";
export const OTHER_SEED = "6f1d0c9be8a7453210fedcba98765432a1b2c3d4e5f60718293a4b5c6d7e8f90";

export const DERIVED: [seed: string | string[], subject: string, rotations: string[], keys: string[]][] = [
  [
    SEED,
    "acme",
    ["2026-12", "2026-09"],
    ["I9oXBOivFnujhVOeaYnb2aWa1Vl1ADpz-ckz7vsxlUc", "KZ2qsC7cHrEbxwTxU0vyGeNgaxJe8ajp7zElbEUykB0"],
  ],
  [
    [OTHER_SEED, SEED],
    "acme",
    ["2026-12", "2026-09"],
    [
      "VQqRiT7HBOjtQPCRxUyUM_9MxRTTk1n9lgM88cFGRkM",
      "K0u7Sqc-xyc0EgCVZdrK1hFImq0Icu6yuI2U_9RvM6c",
      "I9oXBOivFnujhVOeaYnb2aWa1Vl1ADpz-ckz7vsxlUc",
      "KZ2qsC7cHrEbxwTxU0vyGeNgaxJe8ajp7zElbEUykB0",
    ],
  ],
  [SEED, "Kunde Nº 7 世界 🎉", ["1"], ["PtAmpr1u2kXFlLzW_2l1xFPzYqYi18ofLmVBjAV7PE8"]],
];
