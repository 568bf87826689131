import type { HandshakeEncoding, HandshakeStep, HandshakeTranscript } from "../errors/index.js";
import { listNames, toShortText } from "../lib/plain-text.js";
import type { PostResponse } from "../lib/post.js";
import { createRedactor, MASK, quote, quoteBody } from "../lib/redact.js";
import { CAUSES, FORMS_FAIL } from "./causes.js";

/** A host name may resolve to dozens of addresses, but a transcript should be short. */
const SHOWN_ADDRESSES = 4;

/** The outcome of a step, without its encoding: "HTTP 302 to https://chat.example/login". */
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

const describeStep = (step: HandshakeStep): string => `${step.encoding}: ${describeOutcome(step)}`;

/** The outcome of a step and what it means: "form: getaddrinfo ENOTFOUND chat.example (the name does not resolve)". */
export function explainStep(step: HandshakeStep): string {
  const finding = step.cause === undefined ? undefined : CAUSES[step.cause].finding;
  return finding === undefined ? describeStep(step) : `${describeStep(step)} (${finding})`;
}

const describeAddresses = (addresses: readonly string[]): string =>
  addresses.length === 0 ? "the name does not resolve" : listNames(addresses, SHOWN_ADDRESSES);

export const describePrivate = (addresses: readonly string[]): string =>
  `the endpoint has a loopback or private address (${describeAddresses(addresses)})`;

/** What was seen, in at most six lines. Steps with the same outcome share a line. */
export function describeRecord({ addresses, steps, rounds }: HandshakeTranscript): string[] {
  const outcomes = [...Map.groupBy(steps, describeOutcome)].map(([outcome, same]) => {
    const attempts = same.map(({ encoding, ms }) => `${encoding} (${ms} ms)`).join(", ");
    return `${attempts}: ${outcome}`;
  });
  return [`address: ${describeAddresses(addresses)}`, ...outcomes, `attempts: ${rounds}`];
}

const QUOTED_CHARACTERS = 200;

/** Quotes the start of a response's body: redacted, on one line and shortened. */
export function quoteResponse({ body, isComplete }: PostResponse, secrets: readonly string[]): string {
  const line = quoteBody(body.toString("utf8"), createRedactor(secrets), Infinity);
  return toShortText(isComplete ? line : untilLastMask(line), QUOTED_CHARACTERS);
}

export const quoteText = (text: string, secrets: readonly string[]): string =>
  quote(text, secrets, QUOTED_CHARACTERS);

/** Drops what follows the last mask: a truncated body may end with half of a secret, which is not masked. */
function untilLastMask(line: string): string {
  const last = line.lastIndexOf(MASK);
  return last < 0 ? line : line.slice(0, last + MASK.length);
}

export function titleOf(page: string): string | undefined {
  const title = /<title\b[^>]*>([^<]*)/i.exec(page)?.[1]?.trim();
  return title === "" ? undefined : title;
}

/** A slower response may exceed the service's time limit, which is not specified. In milliseconds. */
export const SLOW_MS = 5_000;

/**
 * What may go wrong although the handshake passes. `only_as_form`, `only_as_json`, `only_as_multipart`,
 * `only_as_query`: the other encodings that were tried fail, and the specification does not say which one the
 * service uses. `slow`: a response took too long. `not_200`: the body is correct, but the status is a 2xx other
 * than 200. `private_address`: only a service on the same network can reach the URL. `token_not_checked`: a
 * wrong token also passes.
 */
export type HandshakeWarningCode =
  `only_as_${HandshakeEncoding}` | "not_200" | "slow" | "private_address" | "token_not_checked";

/** Something that may fail later although the handshake passed, or something else to fix if it failed. */
export interface HandshakeWarning {
  /** The kind of warning. Programs should check this, not the text. */
  code: HandshakeWarningCode;
  /** What was seen and how to fix it, in one line. */
  text: string;
}

const isServerErrorOnForm = ({ cause, encoding }: HandshakeStep): boolean =>
  cause === "server_error" && encoding === "form";

/** `privateAddresses` cannot be reached from outside. */
export function findHandshakeWarnings({
  steps,
  privateAddresses,
  isTokenIgnored,
}: {
  steps: readonly HandshakeStep[];
  privateAddresses: readonly string[];
  isTokenIgnored: boolean;
}): HandshakeWarning[] {
  const warnings: HandshakeWarning[] = [];
  const warn = (code: HandshakeWarningCode, text: string): void => void warnings.push({ code, text });
  const passed = steps.filter(({ rule }) => rule === undefined);
  const failed = steps.filter(({ rule }) => rule !== undefined);
  if (passed[0] && failed.length > 0) {
    const others = failed.map(describeStep).join("; not as ");
    const failsOnForms = failed.some(isServerErrorOnForm) && passed[0].encoding === "json";
    const advice = failsOnForms ? `; ${FORMS_FAIL}` : "";
    warn(`only_as_${passed[0].encoding}`, `the handshake passes, but not as ${others}${advice}`);
  }
  const statuses = new Set(passed.map(({ httpStatus }) => httpStatus).filter((status) => status !== 200));
  if (statuses.size > 0) {
    const shown = [...statuses].map((status) => `HTTP ${status}`).join(", ");
    warn(
      "not_200",
      `the endpoint answers with the challenge, but with ${shown}; ` +
        "the specification only says that the body is the challenge; the service may require 200, so use 200",
    );
  }
  const slowest = Math.max(...steps.filter(({ httpStatus }) => httpStatus !== undefined).map(({ ms }) => ms));
  if (slowest >= SLOW_MS) {
    warn(
      "slow",
      `the endpoint takes ${(slowest / 1000).toFixed(1)} s to answer the handshake, ` +
        "and the service may not wait this long; answer it before any other work",
    );
  }
  if (privateAddresses.length > 0) {
    warn(
      "private_address",
      `${describePrivate(privateAddresses)}, which only a service on the same network can reach`,
    );
  }
  if (isTokenIgnored) {
    warn(
      "token_not_checked",
      "the endpoint also accepts a wrong token, so anyone could register it; " +
        "compare hub_verify_token with the verification key, and answer 401 if they differ",
    );
  }
  return warnings;
}
