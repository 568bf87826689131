import { isLoopback, printUrl } from "../lib/url.js";
import { UNKNOWN } from "./unknown.js";

/** One failure of check. `property` stays empty for keys and URLs: the engine prints the value of a named one. */
export interface CheckFailure {
  property: string;
  reason: string;
}

/** What `check` gives back: the inputs with their defaults, and everything that is wrong with them. */
export interface CheckResult<Inputs> {
  inputs: Inputs;
  failures: CheckFailure[];
}

/** Inputs as the engine hands them over: anything. */
export type RawInputs = Record<string, unknown> & { name: string };

const CONTROL_CHARACTER = /\p{Cc}/u;

/** Looks at one URL. Values that a preview does not know pass, here and in the other checks. */
export function checkUrl(name: string, value: unknown, example: string): CheckFailure[] {
  if (value === UNKNOWN) return [];
  const hint = `write for example "${example}"`;
  if (typeof value !== "string") return [fail(`${name}: must be a string, got ${kindOf(value)}; ${hint}`)];
  const problem = problemOfUrl(value);
  return problem === undefined ? [] : [fail(`${name}: must be ${problem}, got "${showUrl(value)}"; ${hint}`)];
}

/** What a text lacks to be a URL that may be called: words that follow "must be". */
function problemOfUrl(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:\/\//i.test(value)) return "an absolute http or https URL";
  if (/\s/.test(value)) return "a URL without white space";
  if (url.username !== "" || url.password !== "") return "a URL without user name and password";
  if (value.includes("#")) return "a URL without fragment";
  return undefined;
}

/** A URL as given, less what may be secret in it: also of text that is no URL. */
export function showUrl(value: unknown): string {
  const text = String(value);
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return printUrl(text);
  const bare = text.replace(/[?#].*$/s, "").replace(/^.*@/s, "***@");
  return bare.length > 100 ? `${bare.slice(0, 100)}…` : bare;
}

/** Looks at a key. Nothing of it is shown. */
export function checkSecret(name: string, value: unknown, hint: string): CheckFailure[] {
  if (value === UNKNOWN) return [];
  const problem = problemOfSecret(value);
  return problem === undefined ? [] : [fail(`${name}: must be ${problem}; ${hint}`)];
}

function problemOfSecret(value: unknown): string | undefined {
  if (typeof value !== "string") return `a string, got ${kindOf(value)}`;
  if (value === "") return "non-empty, got an empty string";
  if (value.trim() !== value) {
    return `without white space around it, got ${value.length} characters, ${value.trim().length} after trimming`;
  }
  if (CONTROL_CHARACTER.test(value))
    return `without control characters, got ${value.length} characters with some`;
  return undefined;
}

/** Looks at a value that is one of a few. */
export function checkChoice(property: string, value: unknown, accepted: readonly string[]): CheckFailure[] {
  if (value === undefined || value === UNKNOWN || accepted.includes(value as string)) return [];
  const list = accepted.map((one) => `"${one}"`).join(", ");
  const got = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
  return [
    fail(`${property}: must be one of ${list}, got ${got}; leave it out for "${accepted[0]}"`, property),
  ];
}

/** One failure. */
export const fail = (reason: string, property = ""): CheckFailure => ({ property, reason });

/** Names what was given, without its value. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Whether a URL leaves this machine without encryption. */
export function isClearText(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname);
}
