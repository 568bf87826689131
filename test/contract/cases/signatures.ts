import {
  cannotOnLambda,
  delivered,
  FOREIGN_KEY,
  KEY,
  OLD_KEY,
  refused,
  type ContractCase,
} from "../contract-case.ts";

/** As PHP writes it. */
const BODY = '{"type":"text","text":"caf\\u00e9 \\/ ok"}';
const MESSAGE = { type: "text", text: "café / ok" };
const HEX_DIGITS = 64;

const wrong = refused(401, "invalid_signature", /not the signature of this body/);
const missing = refused(401, "invalid_signature", /X-Hub-Signature-256 is missing/);

/** A case whose only signature is a changed one. */
const changed = (name: string, change: (hex: string) => string): ContractCase => ({
  name,
  request: { body: BODY, signed: { as: (signature) => [change(signature.slice(-HEX_DIGITS))] } },
  expected: wrong,
});

const headerNamed = (header: string): ContractCase => ({
  name: `a signature in the header ${header} counts`,
  request: { body: BODY, signed: { header } },
  expected: delivered("text", MESSAGE),
});

const lastValueOnly = {
  "load balancer": "it hands over the last value of a repeated header only; switch multi-value headers on",
};

export const signatureCases: ContractCase[] = [
  {
    name: "a right signature is verified",
    request: { body: BODY, signed: {} },
    expected: delivered("text", MESSAGE),
  },
  {
    name: "a signature of the second key is verified, and it is said which",
    request: { body: BODY, signed: { key: OLD_KEY } },
    expected: delivered("text", MESSAGE, { keyIndex: 1 }),
  },
  headerNamed("x-hub-signature-256"),
  headerNamed("X-HUB-SIGNATURE-256"),
  headerNamed("x-Hub-sIGNATURE-256"),
  {
    name: "a signature with white space around it is verified, since HTTP takes it off",
    request: { body: BODY, signed: { as: (signature) => [` \t${signature}  `] } },
    expected: delivered("text", MESSAGE),
    cannot: cannotOnLambda("the white space is off before the event is made"),
  },
  { name: "no signature is refused", request: { body: BODY }, expected: missing },
  {
    name: "a right signature in another header is refused",
    request: { body: BODY, signed: { header: "X-Hub-Signature" } },
    expected: missing,
  },
  {
    name: "a right signature in the query is refused",
    request: { body: BODY, target: "/hook?x-hub-signature-256=sha256" },
    expected: missing,
  },
  changed("an empty signature is refused", () => ""),
  changed("the prefix alone is refused", () => "sha256="),
  changed("a missing prefix is refused", (hex) => hex),
  changed("the prefix of another algorithm is refused", (hex) => `sha1=${hex}`),
  changed("a prefix in upper case is refused", (hex) => `SHA256=${hex}`),
  changed("a prefix without its equals sign is refused", (hex) => `sha256${hex}`),
  changed("a prefix that comes twice is refused", (hex) => `sha256=sha256=${hex}`),
  changed("white space after the prefix is refused", (hex) => `sha256= ${hex}`),
  changed("digits in upper case are refused", (hex) => `sha256=${hex.toUpperCase()}`),
  changed(
    "one digit in upper case is refused",
    (hex) => `sha256=${hex.replace(/[a-f]/, (a) => a.toUpperCase())}`,
  ),
  changed("a truncated signature is refused", (hex) => `sha256=${hex.slice(0, 32)}`),
  changed("a signature that lacks one digit is refused", (hex) => `sha256=${hex.slice(0, -1)}`),
  changed("a signature with one digit more is refused", (hex) => `sha256=${hex}0`),
  changed("a signature with its digits twice is refused", (hex) => `sha256=${hex}${hex}`),
  changed(
    "white space between the digits is refused",
    (hex) => `sha256=${hex.slice(0, 32)} ${hex.slice(32)}`,
  ),
  changed("junk between the digits is refused", (hex) => `sha256=${hex.slice(0, 32)}zz${hex.slice(32)}`),
  changed("junk in place of two digits is refused", (hex) => `sha256=${hex.slice(0, 32)}zz${hex.slice(34)}`),
  changed("junk after the digits is refused", (hex) => `sha256=${hex};`),
  changed("a signature in quotes is refused", (hex) => `"sha256=${hex}"`),
  changed("a hexadecimal prefix is refused", (hex) => `sha256=0x${hex.slice(2)}`),
  changed(
    "another last digit is refused",
    (hex) => `sha256=${hex.slice(0, -1)}${hex.endsWith("0") ? "1" : "0"}`,
  ),
  changed("64 zeros are refused", () => `sha256=${"0".repeat(HEX_DIGITS)}`),
  changed("the digest in base64 is refused", (hex) => {
    const bytes = hex.match(/../g)?.map((digits) => Number.parseInt(digits, 16)) ?? [];
    return `sha256=${btoa(String.fromCharCode(...bytes))}`;
  }),
  changed(
    "two signatures in one header are refused, though both are right",
    (hex) => `sha256=${hex}, sha256=${hex}`,
  ),
  {
    name: "two headers with a signature are refused, though both are right",
    request: { body: BODY, signed: { as: (signature) => [signature, signature] } },
    expected: wrong,
    cannot: lastValueOnly,
  },
  {
    name: "two headers with a signature are refused when only the first is right",
    request: { body: BODY, signed: { as: (signature) => [signature, "sha256=0"] } },
    expected: wrong,
  },
  {
    name: "two headers with a signature are refused when only the last is right",
    request: { body: BODY, signed: { as: (signature) => ["sha256=0", signature] } },
    expected: wrong,
    cannot: lastValueOnly,
  },
  {
    name: "a signature of another key is refused",
    request: { body: BODY, signed: { key: FOREIGN_KEY } },
    expected: wrong,
  },
  {
    name: "a signature of the key with a line feed after it is refused",
    request: { body: BODY, signed: { key: `${KEY}\n` } },
    expected: wrong,
  },
  {
    name: "a signature of another body is refused",
    request: { body: BODY, signed: { body: `${BODY} ` } },
    expected: wrong,
  },
  {
    name: "a signature of the same JSON, written another way, is refused",
    request: { body: BODY, signed: { body: JSON.stringify(MESSAGE) } },
    expected: wrong,
  },
  {
    name: "a right signature of an empty body is refused on another body",
    request: { body: BODY, signed: { body: "" } },
    expected: wrong,
  },
];
