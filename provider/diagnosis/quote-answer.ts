import { MASK, quote } from "../lib/redact.js";
import type { AnswerStart } from "./exchange.js";

const QUOTED_BYTES = 200;
const ELLIPSIS = "…";

/** Quotes the start of an answer's body in at most 200 bytes: redacted and on one line. */
export function quoteBody({ body, isWhole }: AnswerStart, secrets: readonly string[]): string {
  const line = quote(body.toString("utf8"), secrets, Infinity);
  return cut(isWhole ? line : untilLastMask(line));
}

/** Quotes another text of an answer in at most 200 bytes. */
export const quoteText = (text: string, secrets: readonly string[]): string =>
  cut(quote(text, secrets, Infinity));

function cut(line: string): string {
  const bytes = Buffer.from(line);
  if (bytes.length <= QUOTED_BYTES) return line;
  const start = bytes.subarray(0, QUOTED_BYTES - Buffer.byteLength(ELLIPSIS)).toString();
  // The last character may be cut in two.
  return start.replace(/\ufffd+$/, "") + ELLIPSIS;
}

/** Of a body that was not read whole: half of a secret may stand at its cut end. */
function untilLastMask(line: string): string {
  const last = line.lastIndexOf(MASK);
  return last < 0 ? line : line.slice(0, last + MASK.length);
}
