import type { Failure, FieldProblem } from "./failure.js";
import { fieldName, renderHint, type Audience } from "./hints.js";

/**
 * The text of a failure: what is wrong, then what to do next, each a sentence; then the details, a line each. Without a
 * summary each problem is a line. Text from the service or an endpoint cannot break a line.
 */
export function renderFailure(failure: Failure, audience: Audience = "program"): string {
  const { subject, summary, problems = [], hints, details = [] } = failure;
  const wrong = problems
    .map((problem) => toPlainText(renderProblem(problem, audience)))
    .join(summary === "" ? "\n" : "; ");
  const given = [subject, summary].filter((part) => part !== undefined && part !== "");
  const what = [...given.map((part) => toPlainText(part ?? "")), wrong]
    .filter((part) => part !== "")
    .join(": ");
  const told = { audience, operation: failure.operation, fix: failure.transcript?.hint ?? "" };
  const next = hints.map((hint) => toPlainText(renderHint(hint, told)));
  return [joinSentences([what, ...next]), ...details.map((line) => `  ${toPlainText(line)}`)].join("\n");
}

/** One problem, preceded by its field. */
export const renderProblem = ({ field, text }: FieldProblem, audience: Audience = "program"): string =>
  field === "" ? text : `${fieldName(field, audience)}: ${text}`;

/** Characters that could control a terminal, end a line or change the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Escapes characters that could control a terminal or end a line, as in `\u001b`. Every untrusted text is passed through
 * this before it is printed.
 */
export const toPlainText = (text: string): string => text.replace(UNPRINTABLE, escape);

const joinSentences = (sentences: readonly string[]): string =>
  sentences
    .filter((sentence) => sentence !== "")
    .reduce((text, sentence) => `${text}${/[.?!]$/.test(text) ? "" : "."} ${sentence}`);
