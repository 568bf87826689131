import { ApiChatError, type ApiChatOperation } from "../errors/index.js";

/** The time that one operation may take, in seconds, with all its retries. */
export const DEFAULT_REQUEST_SECONDS = 30;

/** What is wrong with an address, as a list of at most one; the address itself is not shown. */
export const addressProblems = (option: string, address: string): string[] =>
  isHttpUrl(address) ? [] : [`${option}: must be an absolute http or https URL`];

/** A timer of more milliseconds than a 32-bit number holds fires at once. */
const MOST_SECONDS = 2_147_483;

export const requestSecondsProblems = (requestSeconds = DEFAULT_REQUEST_SECONDS): string[] =>
  requestSeconds > 0 && requestSeconds <= MOST_SECONDS
    ? []
    : [`requestSeconds: must be a number above 0, at most ${MOST_SECONDS}`];

const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);

/** `invalid_config`, for problems that each name their field and show no value. */
export const invalidConfig = (
  what: string,
  problems: readonly string[],
  operation: ApiChatOperation,
): ApiChatError => new ApiChatError("invalid_config", `${what}: ${problems.join("; ")}`, { operation });
