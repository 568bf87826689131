import { createRedactor } from "../lib/redact.js";
import type { KeyOrBody } from "./keys.js";

/** How deep the causes of an error are followed. */
const CAUSES_SHOWN = 5;

/**
 * Writes the error of one of the program's own functions to the console: stack and causes as text, with the verification
 * keys taken out. Other properties are left out, because the errors of HTTP clients hold whole requests in them.
 */
export function reportError(source: string, error: unknown, verificationKeys: readonly KeyOrBody[]): void {
  const secrets = verificationKeys.map(toWellFormedText);
  console.error(createRedactor(secrets)(`apichat responder: ${source} has failed: ${describeError(error)}`));
}

function describeError(error: unknown): string {
  const lines: string[] = [];
  let current = error;
  for (let depth = 0; depth < CAUSES_SHOWN && current instanceof Error; depth++) {
    lines.push(current.stack ?? String(current));
    current = current.cause;
  }
  return lines.length > 0 ? lines.join("\ncaused by: ") : `thrown: ${typeof error} ${describeValue(error)}`;
}

function describeValue(value: unknown): string {
  try {
    return String(value);
  } catch {
    // Not everything that can be thrown can be written as text, and a report must not fail.
    return "without a text";
  }
}

/** Text without lone surrogates, which no URL encoder takes. */
function toWellFormedText(key: KeyOrBody): string {
  return new TextDecoder().decode(typeof key === "string" ? new TextEncoder().encode(key) : key);
}
