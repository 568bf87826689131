import type { Dispatcher } from "undici";
import * as z from "zod";
import { invalidFields, type ApiChatOperation, type Hint } from "../errors/index.js";
import { MAX_TIMER_MS } from "../lib/abort.js";
import type { Retry } from "../lib/retry.js";
import { formatGivenUrl, problemOfUrl } from "../lib/url.js";
import { httpUrl, problemsOf, validatedBy } from "../lib/validate.js";

/** The options of both clients. */
export interface ClientOptions {
  /** The time limit of one operation, including its retries, in seconds. Default 30. */
  requestSeconds?: number;
  /** Ends every operation of this client. */
  signal?: AbortSignal;
  /** undici's dispatcher. Default: the pool of this process, which uses the environment's proxies. */
  dispatcher?: Dispatcher;
  /** Called for each failed attempt that will be retried. */
  onRetry?: (
    retry: Retry & {
      /** What is being retried. */
      operation: ApiChatOperation;
    },
  ) => void;
}

/** Throws an `invalid_config` error that names the wrong options. If a key is wrong, the error has `keyHint`. */
export function requireOptions(client: string, schema: z.ZodType, options: object, keyHint: Hint): void {
  const problems = problemsOf(schema, options);
  const hints = problems.some(({ field }) => /apiKey$/i.test(field)) ? [keyHint] : [];
  if (problems.length > 0) throw invalidFields(problems, { where: client, hints });
}

/**
 * How the flow API key is sent to `bot_url`; section 5 does not specify this. `bearer`: as `Authorization: Bearer`.
 * `raw`: alone in `Authorization`. `body`: as the field `ChaveApi`. `{ header }`: alone in a header with this name.
 */
export type FlowApiKeyAs =
  | "bearer"
  | "raw"
  | "body"
  | {
      /** The name of the header, such as `x-api-key`. */
      header: string;
    };

/**
 * How the API key is sent to the registration interface. `body`: as the field `ChaveApi` (section 4.1).
 * `body-and-bearer`: also as `Authorization: Bearer`, because section 5 mentions bearer authentication.
 */
export type ApiKeyAs = "body" | "body-and-bearer";

export const bearerHeaders = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

export function presentFlowKey(
  key: string,
  as: FlowApiKeyAs,
): { headers: Record<string, string>; fields: { ChaveApi?: string } } {
  if (as === "bearer") return { headers: bearerHeaders(key), fields: {} };
  if (as === "body") return { headers: {}, fields: { ChaveApi: key } };
  return { headers: { [as === "raw" ? "authorization" : as.header]: key }, fields: {} };
}

/** Headers that belong to the connection or the body, or that we set. */
const RESERVED_HEADER =
  /^(content-.*|transfer-encoding|te|trailer|host|connection|keep-alive|upgrade|expect|accept|user-agent)$/i;

export function isFlowApiKeyAs(as: unknown): boolean {
  if (typeof as === "string") return ["bearer", "raw", "body"].includes(as);
  const header = typeof as === "object" && as !== null && "header" in as ? as.header : undefined;
  return typeof header === "string" && /^[!#$%&'*+.^_`|~\w-]+$/.test(header) && !RESERVED_HEADER.test(header);
}

const requestSeconds = z
  .number()
  .min(0.001)
  .max(Math.floor(MAX_TIMER_MS / 1000))
  .optional();

const apiKeyAs = z.enum(["body", "body-and-bearer"]).default("body");

const flowApiKeyAs = z
  .custom<FlowApiKeyAs>(isFlowApiKeyAs, {
    error: 'must be "bearer", "raw", "body" or { header }, with a header that requests do not already use',
  })
  .default("bearer");

const inHeader = (key: string, as: ApiKeyAs | FlowApiKeyAs): boolean =>
  as === "body" || /^[\x21-\x7e]*$/.test(key);

const headerError =
  "contains a character that is not allowed in a header, such as whitespace or a line break; copy it again";

export function problemOfBaseUrl(value: unknown): string | undefined {
  const problem = problemOfUrl(value, "https://platform.example/acme/apichat");
  if (problem !== undefined || !new URL(value as string).searchParams.has("action")) return problem;
  return (
    `must not contain the query parameter "action", which is added to each call, ` +
    `got "${formatGivenUrl(value)}"; leave it out`
  );
}

export const registrationOptions = z
  .object({
    baseUrl: validatedBy<string>(problemOfBaseUrl),
    apiKey: z.string().min(1),
    apiKeyAs,
    requestSeconds,
  })
  .refine((given) => inHeader(given.apiKey, given.apiKeyAs), { error: headerError, path: ["apiKey"] });

export const messageOptions = z
  .object({
    botUrl: httpUrl("https://bots.example/api/apichat/f3a1c09b"),
    flowApiKey: z.string().min(1),
    flowApiKeyAs,
    requestSeconds,
  })
  .refine((given) => inHeader(given.flowApiKey, given.flowApiKeyAs), {
    error: headerError,
    path: ["flowApiKey"],
  });
