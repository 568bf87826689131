import * as z from "zod";

/**
 * How the handshake's three parameters are sent (section 6.1 leaves it open): `form` as a form body, `json` as a JSON
 * body, `multipart` as a multipart form (PHP's curl sends an array so), `query` merged into the query of the webhook URL,
 * with an empty body.
 */
export type HandshakeEncoding = "form" | "json" | "multipart" | "query";

/** The random string of a handshake (section 6.1): 32 hex digits, 10 digits, or 1 KiB of letters, digits, `+` and `/`. */
export type Challenge = "hex" | "digits" | "long";

/**
 * What a set-webhook with a failed handshake does (section 3 leaves it open): `keeps` answers 422 and leaves what stood
 * there; `clears` answers 422 and removes what stood there; `unverified` stores the new registration with
 * `webhook_status` `failed` and answers 200.
 */
export type FailedHandshake = "keeps" | "clears" | "unverified";

/**
 * What get-webhook answers for a workspace that never had a webhook (section 4.1 leaves it open): `empty-strings` the
 * four fields as empty strings, as after a removal; `null-fields` the four fields as null; `nulls` `data: null`;
 * `missing` an envelope without `data`; `empty-array` `data: []`; `not-found` HTTP 404.
 */
export type BeforeFirstSet =
  "empty-strings" | "null-fields" | "nulls" | "missing" | "empty-array" | "not-found";

/**
 * The body of an error (section 7 leaves it open): `envelope` `{ status: "error", message }`; `errors` `{ message, errors }`
 * with a list for each field; `text` the message alone; `empty` nothing.
 */
export type ErrorShape = "envelope" | "errors" | "text" | "empty";

/**
 * Where the registration interface finds the API key (section 5 speaks of bearer authentication): `body` in `ChaveApi` only;
 * `body-or-bearer` there or as `Authorization: Bearer`; `body-and-bearer` in both places, or the call is refused.
 */
export type RegistrationKey = "body" | "body-or-bearer" | "body-and-bearer";

/**
 * How the flow API key is presented on `bot_url` (section 5 leaves it open): `bearer` as `Authorization: Bearer`; `raw` as
 * `Authorization` alone; `body` as the field `ChaveApi`, as in the registration; `none` it is not asked for.
 */
export type FlowKey = "bearer" | "raw" | "body" | "none";

/**
 * What `bot_url` answers to a message that it takes (section 4.2 leaves it open): `ok` 200 and `{ status: "ok" }`; `created`
 * 201 and the message's id; `empty` 204.
 */
export type MessageAnswer = "ok" | "created" | "empty";

/** Whether `sender.email` and `sender.phone_number` must be there (section 2.3 leaves it open). */
export type SenderFields = "optional" | "required";

/**
 * Which registrations get deliveries (section 3 leaves it open): `verified` only while `webhook_status` is that; `registered`
 * any, also one whose handshake failed.
 */
export type DeliveryWhile = "verified" | "registered";

/** Which answer of the webhook URL means that it took a delivery (section 6.2 leaves it open). */
export type DeliveryAnswer = "2xx" | "200" | "any";

/** How the body of a delivery is written: as JSON.stringify does, or as PHP does, with `\/` and `\u00e9`. */
export type DeliveryEncoding = "json" | "php";

/** What the cards of the built-in flow `menu` have as `default_action` (section 2.4 leaves its structure open). */
export type DefaultAction = "null" | "url";

/** How the open points of the specification are read. */
export interface Switches {
  /** Default `form`, `hex` and 5000 ms. The time limit is for the whole handshake. */
  handshake?: { encoding?: HandshakeEncoding; challenge?: Challenge; timeoutMs?: number };
  /** Default `keeps`. */
  failedHandshake?: FailedHandshake;
  /** Default `empty-strings`. */
  beforeFirstSet?: BeforeFirstSet;
  /** Answers show the verification key as `ab********yz`. Default false. */
  maskKey?: boolean;
  /** Answers show the URL with its host in lower case, without default port and trailing slash. Default false. */
  normalizeUrl?: boolean;
  /** The `webhook_status` that set-webhook gives after a good handshake. Default `verified`. */
  statusAfterSet?: string;
  /** After how long another `statusAfterSet` becomes `verified` by itself. Default: never, only by `change()`. */
  verifyAfterMs?: number;
  /** Default `envelope`. */
  errorShape?: ErrorShape;
  /** Default `body`. */
  registrationKey?: RegistrationKey;
  /** Default `bearer`: a guess. */
  flowKey?: FlowKey;
  /** Default `ok`. */
  messageAnswer?: MessageAnswer;
  /** Default `optional`. */
  senderFields?: SenderFields;
  /** Default `verified`. */
  deliveryWhile?: DeliveryWhile;
  /** Default `2xx`. */
  deliveryAnswer?: DeliveryAnswer;
  /** Default `json`. */
  deliveryEncoding?: DeliveryEncoding;
  /** How often a delivery is tried. Default 1, no retry: the harshest reading. */
  deliveryAttempts?: number;
  /** Pause before the second try; it doubles with each. Default 1000 ms. */
  deliveryRetryMs?: number;
  /** Time limit of one try. Default 5000 ms. */
  deliveryTimeoutMs?: number;
  /** Default `null`. */
  defaultAction?: DefaultAction;
  /** Calls and messages of one workspace beyond this many in a second get 429 with `Retry-After`. Default: no limit. */
  requestsPerSecond?: number;
}

/** The switches with every default filled in. */
export type SwitchSettings = z.output<z.ZodObject<typeof switches>>;

const durationMs = z.number().min(0).max(2_147_483_647);
const limitMs = durationMs.min(1);

export const switches = {
  handshake: z
    .strictObject({
      encoding: z.enum(["form", "json", "multipart", "query"]).default("form"),
      challenge: z.enum(["hex", "digits", "long"]).default("hex"),
      timeoutMs: limitMs.default(5000),
    })
    .prefault({}),
  failedHandshake: z.enum(["keeps", "clears", "unverified"]).default("keeps"),
  beforeFirstSet: z
    .enum(["empty-strings", "null-fields", "nulls", "missing", "empty-array", "not-found"])
    .default("empty-strings"),
  maskKey: z.boolean().default(false),
  normalizeUrl: z.boolean().default(false),
  statusAfterSet: z.string().min(1).default("verified"),
  verifyAfterMs: durationMs.optional(),
  errorShape: z.enum(["envelope", "errors", "text", "empty"]).default("envelope"),
  registrationKey: z.enum(["body", "body-or-bearer", "body-and-bearer"]).default("body"),
  flowKey: z.enum(["bearer", "raw", "body", "none"]).default("bearer"),
  messageAnswer: z.enum(["ok", "created", "empty"]).default("ok"),
  senderFields: z.enum(["optional", "required"]).default("optional"),
  deliveryWhile: z.enum(["verified", "registered"]).default("verified"),
  deliveryAnswer: z.enum(["2xx", "200", "any"]).default("2xx"),
  deliveryEncoding: z.enum(["json", "php"]).default("json"),
  deliveryAttempts: z.int().min(1).max(100).default(1),
  deliveryRetryMs: durationMs.default(1000),
  deliveryTimeoutMs: limitMs.default(5000),
  defaultAction: z.enum(["null", "url"]).default("null"),
  requestsPerSecond: z.int().min(1).optional(),
};
