import { ApiChatError, type ApiChatOperation, type FieldProblem, type Hint } from "../errors/index.js";

/** The time that one operation may take, in seconds, with all its retries. */
export const DEFAULT_REQUEST_SECONDS = 30;

/** What is wrong with an address, as a list of at most one; the address itself is not shown. */
export const addressProblems = (option: string, address: string): FieldProblem[] =>
  isHttpUrl(address) ? [] : [{ field: option, text: "must be an absolute http or https URL" }];

/** A timer of more milliseconds than a 32-bit number holds fires at once. */
const MAX_SECONDS = 2_147_483;

export const requestSecondsProblems = (requestSeconds = DEFAULT_REQUEST_SECONDS): FieldProblem[] =>
  requestSeconds > 0 && requestSeconds <= MAX_SECONDS
    ? []
    : [{ field: "requestSeconds", text: `must be a number above 0, at most ${MAX_SECONDS}` }];

const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.parse(text) !== null;

/** `invalid_config`, for problems that show no value. */
export const invalidOptions = (
  what: string,
  problems: readonly FieldProblem[],
  operation: ApiChatOperation,
  hints: readonly Hint[] = [],
): ApiChatError =>
  new ApiChatError("invalid_config", what, { operation, hints, problems: problems.map(toPlain) });

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

/** What is wrong with a flow API key and how it is presented. */
export function flowKeyProblems(flowApiKey: string, as: FlowApiKeyAs): FieldProblem[] {
  const problems = isFlowApiKeyAs(as)
    ? []
    : [
        {
          field: "flowApiKeyAs",
          text: 'must be "bearer", "raw", "body" or { header }, with a header that requests do not already use',
        },
      ];
  if (!flowApiKey) return [...problems, { field: "flowApiKey", text: "is missing" }];
  return as === "body" ? problems : [...problems, ...headerProblems("flowApiKey", flowApiKey)];
}

export function apiKeyAsProblems(apiKey: string, as: ApiKeyAs): FieldProblem[] {
  if (as === "body") return [];
  if (as === "body-and-bearer") return headerProblems("apiKey", apiKey);
  return [{ field: "apiKeyAs", text: 'must be "body" or "body-and-bearer"' }];
}

const headerProblems = (option: string, key: string): FieldProblem[] =>
  /^[\x21-\x7e]*$/.test(key)
    ? []
    : [
        {
          field: option,
          text: "contains a character that is not allowed in a header, such as whitespace or a line break; copy it again",
        },
      ];

/** Headers of the connection or the body, or set by us. */
const RESERVED_HEADER =
  /^(content-.*|transfer-encoding|te|trailer|host|connection|keep-alive|upgrade|expect|accept|user-agent)$/i;

/** Whether a value is one of the ways to present a flow API key. */
export function isFlowApiKeyAs(as: unknown): boolean {
  if (typeof as === "string") return ["bearer", "raw", "body"].includes(as);
  const header = typeof as === "object" && as !== null && "header" in as ? as.header : undefined;
  return typeof header === "string" && /^[!#$%&'*+.^_`|~\w-]+$/.test(header) && !RESERVED_HEADER.test(header);
}
