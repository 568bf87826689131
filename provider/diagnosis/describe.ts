import type { HandshakeRecord, HandshakeStep } from "../errors/index.js";
import type { Answer } from "../lib/post.js";
import { MASK, quote } from "../lib/redact.js";
import { CAUSES } from "./causes.js";

/** A name may have dozens of addresses; a transcript stays short. */
const SHOWN_ADDRESSES = 4;

/** What came of a step, without its encoding: "HTTP 302 to https://chat.example/login". */
function describeOutcome(step: HandshakeStep): string {
  const { rule, cause, connectError, httpStatus, contentType, location, title, firstBytes = "" } = step;
  if (connectError !== undefined) return connectError;
  const type = contentType === undefined ? "" : ` ${contentType}`;
  const target = location === undefined ? "" : ` to ${location}`;
  const page = title === undefined ? "" : `, page "${title}"`;
  const quoted = firstBytes === "" || rule === "redirect" ? "" : `, body "${firstBytes}"`;
  const body = cause === "empty_body" ? ", no body" : quoted;
  return `HTTP ${httpStatus}${type}${target}${page}${body}${rule === undefined ? ", passed" : ""}`;
}

/** What came of a step: "form: HTTP 404". */
export const describeStep = (step: HandshakeStep): string => `${step.encoding}: ${describeOutcome(step)}`;

/** The same with what it means: "form: getaddrinfo ENOTFOUND chat.example (the name does not resolve)". */
export function explainStep(step: HandshakeStep): string {
  const finding = step.cause === undefined ? undefined : CAUSES[step.cause].finding;
  return finding === undefined ? describeStep(step) : `${describeStep(step)} (${finding})`;
}

/** Steps of which the same is to be said. */
export interface StepRow {
  /** "form, json, query". */
  encodings: string;
  /** How long each took, in milliseconds, in the order of the encodings. */
  times: number[];
  outcome: string;
}

/** One row for all steps with the same outcome, in the order in which they were first seen. */
export function rowsOf(steps: readonly HandshakeStep[]): StepRow[] {
  return [...Map.groupBy(steps, describeOutcome)].map(([outcome, same]) => ({
    encodings: same.map(({ encoding }) => encoding).join(", "),
    times: same.map(({ ms }) => ms),
    outcome,
  }));
}

/** The addresses of the endpoint, or that there are none. */
export function describeAddresses(addresses: readonly string[]): string {
  if (addresses.length === 0) return "the name does not resolve";
  const more = addresses.length - SHOWN_ADDRESSES;
  return addresses.slice(0, SHOWN_ADDRESSES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** What was seen, in at most six lines. */
export function describeRecord({ addresses, steps, rounds }: HandshakeRecord): string[] {
  return [
    `address: ${describeAddresses(addresses)}`,
    ...rowsOf(steps).map(
      ({ encodings, outcome, times }) => `${encodings}: ${outcome}, ${times.join(", ")} ms`,
    ),
    `attempts: ${rounds}`,
  ];
}

const QUOTED_BYTES = 200;
const ELLIPSIS = "…";

/** Quotes the start of an answer's body in at most 200 bytes: redacted and on one line. */
export function quoteBody({ body, isWhole }: Answer, secrets: readonly string[]): string {
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

/** The title of an HTML page. */
export function titleOf(page: string): string | undefined {
  const title = /<title\b[^>]*>([^<]*)/i.exec(page)?.[1]?.trim();
  return title === "" ? undefined : title;
}
