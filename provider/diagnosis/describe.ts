import type { HandshakeEncoding, HandshakeStep, HandshakeTranscript } from "../errors/index.js";
import type { Answer } from "../lib/post.js";
import { createRedactor, MASK, quote, quoteBody as quoteAnswer } from "../lib/redact.js";
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
const describeStep = (step: HandshakeStep): string => `${step.encoding}: ${describeOutcome(step)}`;

/** The same with what it means: "form: getaddrinfo ENOTFOUND chat.example (the name does not resolve)". */
export function explainStep(step: HandshakeStep): string {
  const finding = step.cause === undefined ? undefined : CAUSES[step.cause].finding;
  return finding === undefined ? describeStep(step) : `${describeStep(step)} (${finding})`;
}

/** Steps with the same description. */
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
export function describeRecord({ addresses, steps, rounds }: HandshakeTranscript): string[] {
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
export function quoteBody({ body, isComplete }: Answer, secrets: readonly string[]): string {
  const line = quoteAnswer(body.toString("utf8"), createRedactor(secrets), Infinity);
  return cut(isComplete ? line : untilLastMask(line));
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

/** Drops the end of a truncated body after the last mask, because it may contain half of a secret. */
function untilLastMask(line: string): string {
  const last = line.lastIndexOf(MASK);
  return last < 0 ? line : line.slice(0, last + MASK.length);
}

/** The title of an HTML page. */
export function titleOf(page: string): string | undefined {
  const title = /<title\b[^>]*>([^<]*)/i.exec(page)?.[1]?.trim();
  return title === "" ? undefined : title;
}

/** What takes longer may be too slow for the service, whose own limit the specification does not name. In milliseconds. */
export const SLOW_MS = 5_000;

/**
 * What may go wrong although the endpoint answers. `only_as_form`, `only_as_json`, `only_as_multipart`, `only_as_query`: the
 * other encodings that were tried fail, and the specification does not say which one the service uses. `slow`: an answer
 * took long. `not_200`: an answer is right, with another 2xx than 200.
 * `private_address`: only a service on the same network reaches it. `token_not_checked`: a wrong token passes too.
 */
export type HandshakeWarningCode =
  `only_as_${HandshakeEncoding}` | "not_200" | "slow" | "private_address" | "token_not_checked";

export interface HandshakeWarning {
  code: HandshakeWarningCode;
  text: string;
}

export interface WarningFacts {
  steps: readonly HandshakeStep[];
  /** From when on an answer is slow, in milliseconds. */
  slowMs: number;
  /** Addresses that cannot be reached from outside. */
  privateAddresses: readonly string[];
  isTokenIgnored: boolean;
}

/** Everything worth a warning. */
export function findWarnings(facts: WarningFacts): HandshakeWarning[] {
  return [
    ...warnOfEncodings(facts.steps),
    ...warnOfStatus(facts.steps),
    ...warnOfSlowness(facts),
    ...warnOfAddresses(facts.privateAddresses),
    ...warnOfToken(facts.isTokenIgnored),
  ];
}

function warnOfEncodings(steps: readonly HandshakeStep[]): HandshakeWarning[] {
  const passed = steps.find(({ rule }) => rule === undefined);
  const failed = steps.filter(({ rule }) => rule !== undefined);
  if (passed === undefined || failed.length === 0) return [];
  const text = `the handshake passes, but not as ${failed.map(describeStep).join("; not as ")}`;
  return [{ code: `only_as_${passed.encoding}`, text }];
}

function warnOfStatus(steps: readonly HandshakeStep[]): HandshakeWarning[] {
  const others = steps.filter(({ rule, httpStatus }) => rule === undefined && httpStatus !== 200);
  if (others.length === 0) return [];
  const statuses = [...new Set(others.map(({ httpStatus }) => `HTTP ${httpStatus}`))].join(", ");
  const text = `the endpoint answers with the challenge, but with ${statuses}; the specification only says that the challenge is the body, and the service may want 200: answer with 200`;
  return [{ code: "not_200", text }];
}

function warnOfSlowness({ steps, slowMs }: WarningFacts): HandshakeWarning[] {
  const slowest = Math.max(...steps.filter(({ httpStatus }) => httpStatus !== undefined).map(({ ms }) => ms));
  if (slowest < slowMs) return [];
  const text = `the endpoint takes ${(slowest / 1000).toFixed(1)} s to answer the handshake, and the service may not wait this long; answer it before any other work`;
  return [{ code: "slow", text }];
}

function warnOfAddresses(addresses: readonly string[]): HandshakeWarning[] {
  if (addresses.length === 0) return [];
  const text = `${addresses.join(", ")} is a loopback or private address, which only a service on the same network can reach`;
  return [{ code: "private_address", text }];
}

function warnOfToken(isTokenIgnored: boolean): HandshakeWarning[] {
  if (!isTokenIgnored) return [];
  const text =
    "the endpoint answers a wrong token too, so anyone could register it; compare hub_verify_token with the verification key, and answer 401 if they differ";
  return [{ code: "token_not_checked", text }];
}
