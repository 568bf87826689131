import { toPlainText } from "../errors/index.js";
import { isLoopback, formatUrl } from "./url.js";

/** Placeholder for an input that is not known yet in a preview. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Whether a preview does not know a value, or an item of it. */
export const isUnknown = (value: unknown): boolean => [value].flat().includes(UNKNOWN);

/**
 * Removes what is null, at any depth: an argument that is secret and resolves to undefined arrives so. An item of a list
 * keeps its place.
 */
export const withoutNulls = <T extends object>(values: T): T =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name, isMap(value) ? withoutNulls(value) : (value as unknown)]),
  ) as T;

export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * One failure of check. `property` stays empty for keys and URLs, because the engine prints the value of a named
 * property.
 */
export interface CheckFailure {
  property: string;
  reason: string;
}

/** What `check` gives back: the inputs with their defaults, and everything that is wrong with them. */
export interface CheckResult<Inputs> {
  inputs: Inputs;
  failures: CheckFailure[];
}

/** What `diff` gives back: whether update has something to do. Updates are always in place. */
export interface DiffResult {
  changes: boolean;
  /** The inputs and outputs that update brings to something else, secrets too. */
  changed: readonly string[];
  replaces: string[];
  deleteBeforeReplace: boolean;
}

/** The input of the dynamic provider's classes that holds its source. */
const SOURCE = "__provider";

/** A state that the plugin has written has no source, and without one the engine cannot refresh or destroy it. */
export const missingSource = (state: object, inputs: object): string[] =>
  SOURCE in inputs && !(SOURCE in state) ? [SOURCE] : [];

/** There are changes if anything is named. */
export const toDiff = (changed: readonly string[]): DiffResult => ({
  changes: changed.length > 0,
  changed: [...new Set(changed)],
  replaces: [],
  deleteBeforeReplace: true,
});

/** Inputs as the engine hands them over: anything. */
export type RawInputs = Record<string, unknown> & { name: string };

/** A workspace's name in a configuration; it is used in paths, logs and on command lines. */
export const WORKSPACE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const CONTROL_CHARACTER = /\p{Cc}/u;
const MASK = /[*•●…]{3,}|^[[(<]?(redacted|secret|masked|hidden)[\])>]?$|^[x.]{4,}$/iu;

/** Whether a string looks like a mask that services show in place of a key. */
export const looksMasked = (text: string): boolean => MASK.test(text);

/** Keys shorter than this can be guessed, in characters. */
const SHORT_KEY_CHARACTERS = 16;
const KEY_HINT = "make one with: openssl rand -hex 32";

/** Returns what is wrong with a URL to call, and how to fix it. */
export function problemOfUrl(value: unknown, example: string): string | undefined {
  const hint = `for example "${example}"`;
  if (typeof value !== "string") return `must be a string, got ${kindOf(value)}; ${hint}`;
  const accepted = acceptedUrl(value);
  if (accepted === undefined) return undefined;
  const isAddress = ADDRESS.test(value) || HOST_NAME.test(value);
  const shown = isAddress ? `"${formatGivenUrl(value)}"` : "text that may be a key and is not shown";
  return `must be ${accepted}, got ${shown}; ${hint}`;
}

/** Text that starts like an address. Anything else may be a key in the wrong place, and is not shown. */
const ADDRESS = /^(?:$|[a-z][a-z+.-]*:\/|(?:localhost|[\w-]+(?:\.[\w-]+)+)[:/])/i;
/** A host name alone. With digits or capital letters it may be a key. */
const HOST_NAME = /^[a-z-]+(?:\.[a-z-]{2,})+$/;

/** Returns what an invalid URL must be. */
function acceptedUrl(value: string): string | undefined {
  const url = URL.parse(value);
  if (!url || !/^https?:\/\//i.test(value)) return "an absolute http or https URL";
  if (/\s/.test(value)) return "a URL without whitespace";
  if (url.username !== "" || url.password !== "") return "a URL without user name and password";
  if (value.includes("#")) return "a URL without fragment";
  return undefined;
}

/** Returns what is wrong with a secret string, and how to fix it, without showing the string. */
export function problemOfSecret(value: unknown, hint: string): string | undefined {
  const accepted = acceptedSecret(value);
  return accepted === undefined ? undefined : `must be ${accepted}; ${hint}`;
}

function acceptedSecret(value: unknown): string | undefined {
  if (typeof value !== "string") return `a string, got ${kindOf(value)}`;
  if (value === "") return "non-empty, got an empty string";
  if (value.trim() !== value) {
    return `without leading or trailing whitespace, got ${value.length} characters, ${value.trim().length} after trimming`;
  }
  return CONTROL_CHARACTER.test(value)
    ? `without control characters, got ${value.length} characters with some`
    : undefined;
}

/** Returns everything that is wrong with a verification key, without showing it. */
export function problemsOfKey(value: unknown): string[] {
  const problem = problemOfSecret(value, KEY_HINT);
  const isMask = typeof value === "string" && looksMasked(value);
  const mask = `must be the key itself, got ${String(value).length} characters that look like a mask; do not copy it from a response of the service; ${KEY_HINT}`;
  return [...(problem === undefined ? [] : [problem]), ...(isMask ? [mask] : [])];
}

/** Returns a warning if a key is short enough to be guessed. It follows the name of the key. */
export const warningOfKey = (key: string): string | undefined =>
  key.length >= SHORT_KEY_CHARACTERS
    ? undefined
    : `has fewer than ${SHORT_KEY_CHARACTERS} characters and can be guessed; ${KEY_HINT}`;

/** Returns a warning if a URL leaves this machine without encryption. It follows the name of the URL. */
export const warningOfUrl = (url: string): string | undefined =>
  isClearText(url) ? "uses http, so keys are sent unencrypted; use https" : undefined;

/** Whether a URL leaves this machine without encryption. */
export function isClearText(url: string): boolean {
  const { protocol, hostname = "" } = URL.parse(url) ?? {};
  return protocol === "http:" && !isLoopback(hostname);
}

/** One failure. */
export const fail = (reason: string, property = ""): CheckFailure => ({
  property,
  reason: toPlainText(reason),
});

/**
 * Formats a URL as given, without what may be secret in it. Also accepts text that is not a URL. What follows a character that
 * belongs in no URL may be another value, such as a key in the same cell of a list.
 */
export function formatGivenUrl(value: unknown): string {
  const given = String(value);
  const [text = ""] = given.split(/[\s\p{Cc}]/u, 1);
  const rest = text === given ? "" : "…";
  if (/^https?:\/\//i.test(text) && URL.parse(text) !== null) return formatUrl(text) + rest;
  const bare = text.replace(/[?#].*$/s, "").replace(/^.*@/s, "***@");
  return bare.length > 100 ? `${bare.slice(0, 100)}…` : bare + rest;
}

/** Names the kind of a value, without the value. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
