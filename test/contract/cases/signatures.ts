import {
  delivered,
  OLD_KEY,
  rejected,
  caseOf,
  casesOf,
  type ContractCase,
  type ContractRequest,
} from "../contract-case.ts";

/** The body as PHP encodes it. */
const BODY = '{"type":"text","text":"caf\\u00e9 \\/ ok"}';
const MESSAGE = { type: "text", text: "café / ok" };
const HEX_DIGITS = 64;

const wrong = rejected(401, "invalid_signature", /not the signature of this body/);
const malformed = rejected(401, "invalid_signature", /must be sha256= and 64 lower-case hex digits/);
const missing = rejected(401, "invalid_signature", /X-Hub-Signature-256 is missing/);

const right = delivered("text", MESSAGE);

/** A request with several signatures. Each function makes one from the hex digits of the correct signature. */
const signedAs = (...values: ((hex: string) => string)[]): ContractRequest => ({
  body: BODY,
  signed: { as: (signature) => values.map((value) => value(signature.slice(-HEX_DIGITS))) },
});
const asIs = (hex: string): string => `sha256=${hex}`;

// More rejected signatures are in schema/vectors.json and in test/unit/responder/signature.test.ts.
export const signatureCases: ContractCase[] = [
  ...casesOf(right, {
    "a correct signature is verified": { body: BODY, signed: {} },
    "a signature in the header X-HUB-SIGNATURE-256 is verified": {
      body: BODY,
      signed: { header: "X-HUB-SIGNATURE-256" },
    },
  }),
  caseOf(
    "a signature made with the second key is verified, and the key's index is reported",
    delivered("text", MESSAGE, { keyIndex: 1 }),
    {
      body: BODY,
      signed: { key: OLD_KEY },
    },
  ),
  caseOf(
    "whitespace around a signature is allowed, because HTTP removes it",
    right,
    signedAs((hex) => ` \t${asIs(hex)}  `),
    { cannot: ["Lambda"] },
  ),
  caseOf("no signature is rejected", missing, { body: BODY }),
  ...casesOf(malformed, {
    "upper-case digits are rejected": signedAs((hex) => asIs(hex.toUpperCase())),
    "two signatures in one header are rejected, even if both are correct": signedAs(
      (hex) => `${asIs(hex)}, ${asIs(hex)}`,
    ),
    "two headers with a signature are rejected if only the first is correct": signedAs(
      asIs,
      () => "sha256=0",
    ),
  }),
  caseOf("a signature of different bytes that encode the same JSON is rejected", wrong, {
    body: BODY,
    signed: { body: JSON.stringify(MESSAGE) },
  }),
  ...casesOf(
    malformed,
    {
      "two headers with a signature are rejected, even if both are correct": signedAs(asIs, asIs),
      "two headers with a signature are rejected if only the last is correct": signedAs(
        () => "sha256=0",
        asIs,
      ),
    },
    // Without multi-value headers, a load balancer passes only the last value of a repeated header.
    { cannot: ["load balancer"] },
  ),
];
