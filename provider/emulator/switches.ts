import * as z from "zod";
import { isFlowApiKeyAs } from "../client/options.js";

const durationMs = z.number().min(0).max(2_147_483_647);
const limitMs = durationMs.min(1);

const flowKeyError =
  'must be "bearer", "raw", "body", "none" or { header: "X-Api-Key" }, with a header that requests do not have';
const ownHeader = z.strictObject({ header: z.string() }).refine(isFlowApiKeyAs, { error: flowKeyError });

const handshake = z.strictObject({
  /**
   * How the three parameters are sent (section 6.1 leaves it open): `form` as a form body, `json` as a JSON body, `multipart` as
   * a multipart form (PHP's curl sends an array so), `query` merged into the query of the webhook URL, with an empty body.
   */
  encoding: z.enum(["form", "json", "multipart", "query"]).default("form"),
  /** The random string (section 6.1): 32 hex digits, 10 digits, or 1 KiB of letters, digits, `+` and `/`. */
  challenge: z.enum(["hex", "digits", "long"]).default("hex"),
  /** Time limit of the whole handshake. */
  timeoutMs: limitMs.default(5000),
});

/** zod schemas of the switches: how the open points of the specification are read. */
export const switches = {
  /** Default `form`, `hex` and 5000 ms. */
  handshake: handshake.prefault({}),
  /**
   * What a set-webhook with a failed handshake does (section 3 leaves it open): `keeps` answers 422 and changes nothing;
   * `clears` answers 422 and removes what was registered; `unverified` registers with `webhook_status` `failed` and answers 200.
   * Default `keeps`.
   */
  failedHandshake: z.enum(["keeps", "clears", "unverified"]).default("keeps"),
  /**
   * What get-webhook answers for a workspace that never had a webhook (section 4.1 leaves it open): `empty-strings` the four
   * fields as empty strings, as after a removal; `null-fields` the four fields as null; `nulls` `data: null`; `missing` an
   * envelope without `data`; `empty-array` `data: []`; `not-found` HTTP 404. Default `empty-strings`.
   */
  beforeFirstSet: z
    .enum(["empty-strings", "null-fields", "nulls", "missing", "empty-array", "not-found"])
    .default("empty-strings"),
  /** Answers show the verification key as `ab********yz`. Default false. */
  maskKey: z.boolean().default(false),
  /** Answers show the URL with its host in lower case, without default port and trailing slash. Default false. */
  normalizeUrl: z.boolean().default(false),
  /** The `webhook_status` that set-webhook gives after a good handshake. Default `verified`. */
  statusAfterSet: z.string().min(1).default("verified"),
  /** After how long another `statusAfterSet` becomes `verified` by itself. Default: never, only by `change()`. */
  verifyAfterMs: durationMs.optional(),
  /**
   * The body of an error (section 7 leaves it open): `envelope` `{ status: "error", message }`; `errors` `{ message, errors }`
   * with a list for each field; `text` the message alone; `empty` nothing. Default `envelope`.
   */
  errorShape: z.enum(["envelope", "errors", "text", "empty"]).default("envelope"),
  /**
   * Where the registration interface finds the API key (section 5 speaks of bearer authentication): `body` in `ChaveApi` only;
   * `body-or-bearer` there or as `Authorization: Bearer`; `body-and-bearer` in both places, or the call is refused. Default `body`.
   */
  registrationKey: z.enum(["body", "body-or-bearer", "body-and-bearer"]).default("body"),
  /**
   * How the flow API key is presented on `bot_url` (section 5 leaves it open): `bearer` as `Authorization: Bearer`; `raw` as
   * `Authorization` alone; `body` as the field `ChaveApi`, as in the registration; `{ header }` alone in a header of this name;
   * `none` it is not required. Default `bearer`: a guess.
   */
  flowKey: z
    .union([z.enum(["bearer", "raw", "body", "none"]), ownHeader], { error: flowKeyError })
    .default("bearer"),
  /**
   * What `bot_url` answers to a message that it takes (section 4.2 leaves it open): `ok` 200 and `{ status: "ok" }`; `created`
   * 201 and the message's id; `empty` 204. Default `ok`.
   */
  messageResponse: z.enum(["ok", "created", "empty"]).default("ok"),
  /** Whether `sender.email` and `sender.phone_number` must be there (section 2.3 leaves it open). Default `optional`. */
  senderFields: z.enum(["optional", "required"]).default("optional"),
  /**
   * Which registrations get deliveries (section 3 leaves it open): `verified` only while `webhook_status` is that; `registered`
   * any, also one whose handshake failed. Default `verified`.
   */
  deliveryWhile: z.enum(["verified", "registered"]).default("verified"),
  /** Which answer of the webhook URL means that it took a delivery (section 6.2 leaves it open). Default `2xx`. */
  deliveryResponse: z.enum(["2xx", "200", "any"]).default("2xx"),
  /** How the body of a delivery is written: as JSON.stringify does, or as PHP does, with `\/` and `\u00e9`. Default `json`. */
  deliveryEncoding: z.enum(["json", "php"]).default("json"),
  /** How often a delivery is tried. Default 1, no retry: the harshest reading. */
  deliveryAttempts: z.int().min(1).max(100).default(1),
  /** Pause before the second try; it doubles with each. Default 1000 ms. */
  deliveryRetryMs: durationMs.default(1000),
  /** Time limit of one try. Default 5000 ms. */
  deliveryTimeoutMs: limitMs.default(5000),
  /** What the cards of the flow `menu` have as `default_action` (section 2.4 leaves its structure open). Default `null`. */
  defaultAction: z.enum(["null", "url"]).default("null"),
  /** Calls and messages of one workspace beyond this many in a second get 429 with `Retry-After`. Default: no limit. */
  requestsPerSecond: z.int().min(1).optional(),
};

const schema = z.object(switches);

/** How the open points of the specification are read. */
export interface Switches extends z.input<typeof schema> {}

/** The switches with every default filled in. */
export type SwitchSettings = z.output<typeof schema>;

/** A reading of the open point of this name. */
export type Reading<Name extends keyof SwitchSettings> = SwitchSettings[Name];

export type HandshakeEncoding = Reading<"handshake">["encoding"];
export type FailedHandshake = Reading<"failedHandshake">;
export type BeforeFirstSet = Reading<"beforeFirstSet">;
