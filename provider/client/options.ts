import type { Dispatcher } from "undici";
import * as z from "zod";
import { ApiChatError, type ApiChatOperation, type FieldProblem, type Hint } from "../errors/index.js";
import { MAX_TIMER_MS } from "../lib/abort.js";
import type { Retry } from "../lib/retry.js";
import { problemsOf } from "../lib/validate.js";

/** The time that one operation may take, in seconds, with all its retries. */
export const DEFAULT_REQUEST_SECONDS = 30;

/** The options of both clients. */
export interface ClientOptions<Operation extends ApiChatOperation> {
  /** The time limit of one operation with its retries, in seconds. Default 30. */
  requestSeconds?: number;
  /** Ends every operation of this client. */
  signal?: AbortSignal;
  /** undici's dispatcher. Default: the pool of this process, which uses the environment's proxies. */
  dispatcher?: Dispatcher;
  /** Called for each failed attempt that will be retried. */
  onRetry?: (retry: Retry & { operation: Operation }) => void;
}

/** `invalid_config`, for problems that show no value. */
export const invalidOptions = (
  what: string,
  problems: readonly FieldProblem[],
  operation: ApiChatOperation,
  hints: readonly Hint[] = [],
): ApiChatError =>
  new ApiChatError("invalid_config", what, { operation, hints, problems: problems.map(toPlain) });

/**
 * Throws `invalid_config` naming the options of a client that are wrong, without their values. `noKey` is the hint if
 * the key is missing.
 */
export function requireOptions(
  client: string,
  { schema, given, key, noKey }: { schema: z.ZodType; given: object; key: string | undefined; noKey: Hint },
): void {
  const problems = problemsOf(schema, given);
  if (problems.length > 0) throw invalidOptions(client, problems, "check", key ? [] : [noKey]);
}

/** A problem of a schema has more than its field and its text. */
const toPlain = ({ field, text }: FieldProblem): FieldProblem => ({ field, text });

/**
 * How the flow API key is sent to `bot_url`, which section 5 does not specify: `bearer` as `Authorization: Bearer`,
 * `raw` as `Authorization` alone, `body` as the field `ChaveApi`, as in the registration, or alone in a header.
 */
export type FlowApiKeyAs = "bearer" | "raw" | "body" | { header: string };

/**
 * How the API key is presented to the registration interface: `body` as the field `ChaveApi` (section 4.1), `body-and-bearer`
 * also as `Authorization: Bearer`, because section 5 speaks of bearer authentication.
 */
export type ApiKeyAs = "body" | "body-and-bearer";

export const bearerHeaders = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

/** What a message contains in addition to its own fields. */
export function presentFlowKey(
  key: string,
  as: FlowApiKeyAs,
): { headers: Record<string, string>; fields: { ChaveApi?: string } } {
  if (as === "bearer") return { headers: bearerHeaders(key), fields: {} };
  if (as === "body") return { headers: {}, fields: { ChaveApi: key } };
  return { headers: { [as === "raw" ? "authorization" : as.header]: key }, fields: {} };
}

/** Headers of the connection or the body, or set by us. */
const RESERVED_HEADER =
  /^(content-.*|transfer-encoding|te|trailer|host|connection|keep-alive|upgrade|expect|accept|user-agent)$/i;

/** Whether a value is one of the ways to present a flow API key. */
export function isFlowApiKeyAs(as: unknown): boolean {
  if (typeof as === "string") return ["bearer", "raw", "body"].includes(as);
  const header = typeof as === "object" && as !== null && "header" in as ? as.header : undefined;
  return typeof header === "string" && /^[!#$%&'*+.^_`|~\w-]+$/.test(header) && !RESERVED_HEADER.test(header);
}

/** The address itself is not shown: its query may hold a token. */
const address = z
  .custom<string>(
    (value) => typeof value === "string" && /^https?:\/\//i.test(value) && URL.parse(value) !== null,
    { error: "must be an absolute http or https URL" },
  )
  .refine((value) => !URL.parse(value)?.username && !URL.parse(value)?.password, {
    error: "must be a URL without user name and password",
  });

const MAX_SECONDS = Math.floor(MAX_TIMER_MS / 1000);
const secondsError = `must be a number above 0, at most ${MAX_SECONDS}`;
const requestSeconds = z
  .number({ error: secondsError })
  .positive({ error: secondsError })
  .max(MAX_SECONDS, { error: secondsError })
  .optional();

const keyShape = z.string({ error: "is missing" }).min(1, { error: "is missing" });

const apiKeyAs = z
  .enum(["body", "body-and-bearer"], { error: 'must be "body" or "body-and-bearer"' })
  .default("body");

const flowApiKeyAs = z
  .custom<FlowApiKeyAs>(isFlowApiKeyAs, {
    error: 'must be "bearer", "raw", "body" or { header }, with a header that requests do not already use',
  })
  .default("bearer");

const inHeader = (key: string, as: ApiKeyAs | FlowApiKeyAs): boolean =>
  as === "body" || /^[\x21-\x7e]*$/.test(key);

const headerError =
  "contains a character that is not allowed in a header, such as whitespace or a line break; copy it again";

export const registrationOptions = z
  .object({ baseUrl: address, apiKey: keyShape, apiKeyAs, requestSeconds })
  .refine((given) => inHeader(given.apiKey, given.apiKeyAs), { error: headerError, path: ["apiKey"] });

const retry = z.enum(["unsent", "any"], { error: 'must be "unsent" or "any"' }).default("unsent");

export const messageOptions = z
  .object({ botUrl: address, flowApiKey: keyShape, flowApiKeyAs, requestSeconds, retry })
  .refine((given) => inHeader(given.flowApiKey, given.flowApiKeyAs), {
    error: headerError,
    path: ["flowApiKey"],
  });
