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

const bytes = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

const countUp = (first: number, last: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** RFC 5869, appendix A.1 to A.3. */
export const RFC_5869 = [
  {
    secret: new Uint8Array(22).fill(0x0b),
    salt: countUp(0x00, 0x0c),
    info: countUp(0xf0, 0xf9),
    output: bytes("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
  },
  {
    secret: countUp(0x00, 0x4f),
    salt: countUp(0x60, 0xaf),
    info: countUp(0xb0, 0xff),
    output: bytes(
      "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
    ),
  },
  {
    secret: new Uint8Array(22).fill(0x0b),
    salt: new Uint8Array(),
    info: new Uint8Array(),
    output: bytes("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
  },
];
