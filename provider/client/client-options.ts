import { ApiChatError, type ApiChatOperation, type FieldProblem, type Hint } from "../errors/index.js";

/** The time that one operation may take, in seconds, with all its retries. */
export const DEFAULT_REQUEST_SECONDS = 30;

/** What is wrong with an address, as a list of at most one; the address itself is not shown. */
export const addressProblems = (option: string, address: string): FieldProblem[] =>
  isHttpUrl(address) ? [] : [{ field: option, text: "must be an absolute http or https URL" }];

/** A timer of more milliseconds than a 32-bit number holds fires at once. */
const MOST_SECONDS = 2_147_483;

export const requestSecondsProblems = (requestSeconds = DEFAULT_REQUEST_SECONDS): FieldProblem[] =>
  requestSeconds > 0 && requestSeconds <= MOST_SECONDS
    ? []
    : [{ field: "requestSeconds", text: `must be a number above 0, at most ${MOST_SECONDS}` }];

const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);

/** `invalid_config`, for problems that show no value. */
export const invalidConfig = (
  what: string,
  problems: readonly FieldProblem[],
  operation: ApiChatOperation,
  hints: readonly Hint[] = [],
): ApiChatError =>
  new ApiChatError("invalid_config", what, { operation, hints, problems: problems.map(toPlain) });

/** A problem of a schema has more than its field and its text. */
const toPlain = ({ field, text }: FieldProblem): FieldProblem => ({ field, text });
