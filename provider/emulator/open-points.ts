/**
 * The points that the specification leaves open. The schema of the emulator's options, their doc comments and the flags
 * of `apichat emulator` come from this table. This file imports nothing, because `--help` and the build load it.
 */

/** A timer with a longer delay fires at once. */
const MAX = 2_147_483_647;
const FROM_0 = { min: 0 };

/** A point with a few readings, each with its meaning. */
const choice = <Reading extends string>(
  section: string,
  about: string,
  byDefault: NoInfer<Reading>,
  readings: Readonly<Record<Reading, string>>,
) => ({ section, about, default: byDefault, readings });

const flag = (section: string, about: string) => ({ section, about, kind: "flag", default: false }) as const;

const text = (section: string, about: string, byDefault: string) =>
  ({ section, about, kind: "text", default: byDefault }) as const;

/** A number; if it has no default, it has no effect until it is set. */
const amount = <Kind extends "ms" | "count", Default extends number | undefined>(
  kind: Kind,
  section: string,
  about: string,
  byDefault: Default,
  { min = 1, max = MAX } = {},
) => ({ section, about, kind, default: byDefault, min, max });

export type OpenPoint =
  | ReturnType<typeof choice<string>>
  | ReturnType<typeof flag | typeof text>
  | ReturnType<typeof amount<"ms" | "count", number | undefined>>;

/** The open points, keyed by the names of the emulator's options. */
export const OPEN_POINTS = {
  handshake: {
    encoding: choice("6.1", "how the three parameters of the handshake are sent", "form", {
      form: "a form in the body",
      json: "JSON in the body",
      multipart: "a multipart form in the body, as PHP's curl extension encodes an array",
      query: "merged into the query of the webhook URL, with an empty body",
    }),
    challenge: choice("6.1", "the random string of the handshake", "hex", {
      hex: "32 hex digits",
      digits: "10 digits",
      long: "1 KiB of letters, digits, + and /",
    }),
    timeoutMs: amount("ms", "8", "time limit of the whole handshake", 5000),
  },
  failedHandshake: choice("3", "the result of a set-webhook request whose handshake fails", "keeps", {
    keeps: "422; the registration stays unchanged",
    clears: "422; the registration is removed",
    unverified: "200; the new registration is stored with the status failed",
  }),
  beforeFirstSet: choice("4.1", "response of get-webhook before the first set-webhook", "empty-strings", {
    "empty-strings": "the four fields as empty strings, as after a removal",
    "null-fields": "the four fields as null",
    nulls: "data: null",
    missing: "no data",
    "empty-array": "data: []",
    "not-found": "HTTP 404",
  }),
  maskKey: flag("2.1", "responses show the verification key as ab********yz"),
  normalizeUrl: flag(
    "2.1",
    "responses show the URL with its host in lower case, without a default port or a trailing slash",
  ),
  statusAfterSet: text("3", "the webhook_status after a successful handshake", "verified"),
  verifyAfterMs: amount(
    "ms",
    "3",
    "time until a status other than verified changes to verified; by default, it never does",
    undefined,
    FROM_0,
  ),
  errorShape: choice("7", "the body of an error response", "envelope", {
    envelope: '{ "status": "error", "message" }',
    errors: '{ "message", "errors" }, with a list for each field',
    text: "the message alone",
    empty: "nothing",
  }),
  registrationKey: choice("5", "where the registration interface finds the API key", "body", {
    body: "only in the field ChaveApi",
    "body-or-bearer": "in ChaveApi, or as Authorization: Bearer",
    "body-and-bearer": "both in ChaveApi and as Authorization: Bearer",
  }),
  flowKey: choice("5", "how the flow API key is presented on bot_url", "bearer", {
    bearer: "as Authorization: Bearer",
    raw: "alone in the header Authorization",
    body: "in the field ChaveApi, as on the registration interface",
    "header:NAME": "alone in a header of this name",
    none: "not required",
  }),
  messageResponse: choice("4.2", "response of bot_url to a message that it accepts", "ok", {
    ok: '200 and { "status": "ok" }',
    created: "201 and the id of the message",
    empty: "204",
  }),
  senderFields: choice("2.3", "whether sender.email and sender.phone_number are required", "optional", {
    optional: "they may be absent",
    required: "422 without them",
  }),
  deliveryWhile: choice("3", "which registered webhooks get deliveries", "verified", {
    verified: "only while their status is verified",
    registered: "all, including one whose handshake failed",
  }),
  deliveryResponse: choice("6.2", "which response to a delivery means that it was accepted", "2xx", {
    "2xx": "any 2xx",
    "200": "200 only",
    any: "any response at all",
  }),
  deliveryEncoding: choice("6.2", "how the body of a delivery is written", "json", {
    json: "as JSON.stringify writes it",
    php: "as PHP writes it, with \\/ and \\u00e9",
  }),
  deliveryAttempts: amount("count", "6.2", "how many times a delivery is attempted", 1, { max: 100 }),
  deliveryRetryMs: amount("ms", "6.2", "pause before the second attempt; doubles each time", 1000, FROM_0),
  deliveryTimeoutMs: amount("ms", "8", "time limit of one attempt", 5000),
  defaultAction: choice("2.4", "default_action of the cards that the menu flow sends", "null", {
    null: "null",
    url: "an object with a URL",
  }),
  requestsPerSecond: amount(
    "count",
    "8",
    "calls per second that a workspace accepts before it responds with 429; no limit by default",
    undefined,
  ),
};

/** Returns every point with its path in the options, such as `handshake.encoding`. */
export function listOpenPoints(): [path: string, point: OpenPoint][] {
  const { handshake, ...others } = OPEN_POINTS;
  const inner = Object.entries(handshake).map(([name, point]): [string, OpenPoint] => [
    `handshake.${name}`,
    point,
  ]);
  return [...inner, ...Object.entries(others)];
}

/** Returns the text of a point: a title, then a line for each reading. `code` formats a value. */
export function describeOpenPoint(point: OpenPoint, code: (value: string) => string = String): string {
  const title = `${point.about} (section ${point.section})`;
  if ("readings" in point) {
    const lines = Object.entries(point.readings).map(
      ([name, meaning]) => `- ${code(name)}: ${meaning}${name === point.default ? " (default)" : ""}`,
    );
    return [title, ...lines].join("\n");
  }
  return point.default === undefined || point.kind === "flag"
    ? title
    : `${title}; default ${code(String(point.default))}`;
}
