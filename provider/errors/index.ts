import type { ApiChatErrorCode, ApiChatOperation, Failure, FieldProblem } from "./failure.js";
import { fieldName, renderHint, type Audience } from "./hints.js";

export { commandLine, isOfArchive, setFromArchive } from "./command.js";
export * from "./failure.js";
export { fieldName, removalCommand, shellQuote, type Audience, type Hint } from "./hints.js";

/** All fields of a {@link Failure} except its code and summary; only `operation` is required. */
export type ApiChatErrorDetails = { [Key in keyof FailureDetails]?: FailureDetails[Key] | undefined } & {
  /** What was in progress. */
  operation: ApiChatOperation;
  /** The underlying error, if there was one. */
  cause?: unknown;
};

type FailureDetails = Omit<Failure, "code" | "summary">;

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- the constructor assigns every field
export interface ApiChatError extends Readonly<Failure> {}

/**
 * Every failure that this package reports deliberately. Check `code` and `hints`, not the text. `message` contains no
 * secrets. It is worded for program authors; `renderFailure` returns a text for other audiences.
 */
export class ApiChatError extends Error {
  /** Always `ApiChatError`. */
  override readonly name = "ApiChatError";
  readonly #failure: Failure;

  constructor(code: ApiChatErrorCode, summary: string, { cause, ...details }: ApiChatErrorDetails) {
    // Undefined fields are left out, so that a printed error shows only fields with a value.
    const given = Object.entries(details).filter(([, value]) => value !== undefined);
    const failure: Failure = {
      facts: {},
      hints: [],
      attempts: 0,
      ...Object.fromEntries(given),
      // These come last, because `details` contains them too if it is the data of another failure.
      code,
      operation: details.operation,
      summary,
    };
    super(renderFailure(failure), cause === undefined ? undefined : { cause });
    Object.assign(this, failure);
    this.#failure = failure;
  }

  /** The same failure with some of its data changed. */
  with(changes: Partial<Failure>): ApiChatError {
    const { code, summary, ...details } = { ...this.#failure, ...changes };
    return new ApiChatError(code, summary, { ...details, cause: this.cause });
  }

  /** The failure as data. */
  toJSON(): Failure {
    return this.#failure;
  }

  /** Makes the SDK treat this as its own `RunError`: it prints only the message, without a stack trace. */
  get __pulumiRunError(): true {
    return true;
  }
}

/** Creates `invalid_config` for fields. `where` names what the fields belong to, such as a client. */
export const invalidFields = (
  problems: readonly FieldProblem[],
  { where = "", ...details }: Partial<ApiChatErrorDetails> & { where?: string } = {},
): ApiChatError =>
  new ApiChatError("invalid_config", where, {
    operation: "check",
    ...details,
    // Problems that a schema found have further properties, which are left out.
    problems: problems.map(({ field, text }) => ({ field, text })),
  });

/**
 * Formats a failure: what is wrong and what to do next, in sentences, then the details, one per line. If there
 * is no summary, each problem is on its own line. Text from the service or an endpoint cannot break a line.
 */
export function renderFailure(failure: Failure, audience: Audience = "program"): string {
  const { subject, summary, problems = [], details = [] } = failure;
  const wrong = problems
    .map((problem) => toPlainText(renderProblem(problem, audience)))
    .join(summary === "" ? "\n" : "; ");
  const given = [subject, summary].filter((part) => part !== undefined && part !== "");
  const what = [...given.map((part) => toPlainText(part ?? "")), wrong]
    .filter((part) => part !== "")
    .join(": ");
  const text = joinSentences([what, renderHints(failure, audience)]);
  return [text, ...details.map((line) => `  ${toPlainText(line)}`)].join("\n");
}

/** What to do next about a failure, in sentences; empty if there is no advice. */
function renderHints({ hints, operation, transcript }: Failure, audience: Audience): string {
  const context = { audience, operation, fix: transcript?.hint ?? "" };
  return joinSentences(hints.map((hint) => toPlainText(renderHint(hint, context))));
}

/** Formats a problem, preceded by its field. */
export const renderProblem = ({ field, text }: FieldProblem, audience: Audience = "program"): string =>
  field === "" ? text : `${fieldName(field, audience)}: ${text}`;

/** Characters that could control a terminal, end a line or change the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Escapes characters that could control a terminal or end a line: ESC becomes `\u001b`. Every untrusted text is
 * passed through this before it is printed.
 */
export const toPlainText = (text: string): string =>
  text.replace(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

const joinSentences = (sentences: readonly string[]): string =>
  sentences
    .filter((sentence) => sentence !== "")
    .map((sentence, index, { length }) =>
      index === length - 1 || /[.?!]$/.test(sentence) ? sentence : `${sentence}.`,
    )
    .join(" ");
