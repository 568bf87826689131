import { printUrl } from "../url.js";
import { UNKNOWN, VERIFIED, type WebhookInputs } from "./inputs.js";
import { declare } from "./managed.js";
import { looksMasked } from "./mask.js";
import { say } from "./progress.js";
import { API_KEY_MISSING, BASE_URL_MISSING, defaultApiKey, defaultBaseUrl } from "./settings.js";

/** One failure of check. `property` stays empty for keys and URLs: the engine prints the value of a named one. */
interface CheckFailure {
  property: string;
  reason: string;
}

export interface CheckResult {
  inputs: WebhookInputs;
  failures: CheckFailure[];
}

/** Keys shorter than this can be guessed, in characters. */
const SHORT_KEY_CHARACTERS = 16;
const LONGEST_SECONDS = 3600;
const LEAST_SECONDS = new Map([
  ["requestSeconds", 1],
  ["readySeconds", 0],
]);
const CONTROL_CHARACTER = /\p{Cc}/u;

type RawInputs = Record<string, unknown> & { name: string };

/**
 * Resolves the defaults and says everything that is wrong at once. No I/O. Values that a preview does not know pass.
 * The inputs get `status: "verified"`, so that a preview shows a lost status as a change.
 */
export function check(_olds: unknown, news: RawInputs): CheckResult {
  const inputs = { ...news, status: VERIFIED } as RawInputs & { status: string };
  if (inputs["baseUrl"] === undefined) {
    const baseUrl = defaultBaseUrl();
    if (baseUrl !== undefined) inputs["baseUrl"] = baseUrl;
  }
  const failures = [
    ...checkBaseUrl(inputs["baseUrl"]),
    ...checkUrl("webhookUrl", inputs["webhookUrl"], "https://chat.example/webhooks/apichat"),
    ...checkSecret("webhookVerificationKey", inputs["webhookVerificationKey"], KEY_MEND),
    ...checkMask(inputs["webhookVerificationKey"]),
    ...checkApiKey(inputs["apiKey"]),
    ...checkChoice("onExisting", inputs["onExisting"], ["fail", "replace"]),
    ...checkChoice("preflight", inputs["preflight"], ["require", "warn", "off"]),
    ...checkTimeouts(inputs["timeouts"]),
  ];
  const checked = inputs as unknown as WebhookInputs;
  if (failures.length > 0) return { inputs: checked, failures };
  warnOfWeakness(checked);
  return { inputs: checked, failures: checkDuplicate(checked) };
}

const KEY_MEND = "make one with: openssl rand -hex 32";

function checkBaseUrl(value: unknown): CheckFailure[] {
  if (value === undefined) return [fail(BASE_URL_MISSING)];
  const failures = checkUrl("baseUrl", value, "https://platform.example/acme/apichat");
  if (failures.length > 0 || value === UNKNOWN || !new URL(value as string).searchParams.has("action"))
    return failures;
  return [
    fail(
      `baseUrl: must not hold the query parameter "action", which is added to each call, got "${showUrl(value)}"; leave it out`,
    ),
  ];
}

function checkUrl(name: string, value: unknown, example: string): CheckFailure[] {
  if (value === UNKNOWN) return [];
  const mend = `write for example "${example}"`;
  if (typeof value !== "string") return [fail(`${name}: must be a string, got ${kindOf(value)}; ${mend}`)];
  const flaw = flawOfUrl(value);
  return flaw === undefined ? [] : [fail(`${name}: must be ${flaw}, got "${showUrl(value)}"; ${mend}`)];
}

function flawOfUrl(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:\/\//i.test(value)) return "an absolute http or https URL";
  if (/\s/.test(value)) return "a URL without white space";
  if (url.username !== "" || url.password !== "") return "a URL without user name and password";
  if (value.includes("#")) return "a URL without fragment";
  return undefined;
}

/** A URL as given, less what may be secret in it: also of text that is no URL. */
function showUrl(value: unknown): string {
  const text = String(value);
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return printUrl(text);
  const bare = text.replace(/[?#].*$/s, "").replace(/^.*@/s, "***@");
  return bare.length > 100 ? `${bare.slice(0, 100)}…` : bare;
}

function checkSecret(name: string, value: unknown, mend: string): CheckFailure[] {
  if (value === UNKNOWN) return [];
  const flaw = flawOfSecret(value);
  return flaw === undefined ? [] : [fail(`${name}: must be ${flaw}; ${mend}`)];
}

function flawOfSecret(value: unknown): string | undefined {
  if (typeof value !== "string") return `a string, got ${kindOf(value)}`;
  if (value === "") return "non-empty, got an empty string";
  if (value.trim() !== value) {
    return `without white space around it, got ${value.length} characters, ${value.trim().length} after trimming`;
  }
  if (CONTROL_CHARACTER.test(value))
    return `without control characters, got ${value.length} characters with some`;
  return undefined;
}

function checkMask(value: unknown): CheckFailure[] {
  if (typeof value !== "string" || value === UNKNOWN || !looksMasked(value)) return [];
  return [
    fail(
      `webhookVerificationKey: must be the key itself, got ${value.length} characters that look like a mask; do not copy it from an answer of the service; ${KEY_MEND}`,
    ),
  ];
}

function checkApiKey(given: unknown): CheckFailure[] {
  const value = given === undefined ? defaultApiKey() : given;
  if (value === undefined) return [fail(API_KEY_MISSING)];
  return checkSecret("apiKey", value, "copy it again from the platform's support");
}

function checkChoice(property: string, value: unknown, accepted: readonly string[]): CheckFailure[] {
  if (value === undefined || value === UNKNOWN || accepted.includes(value as string)) return [];
  const list = accepted.map((one) => `"${one}"`).join(", ");
  const got = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
  return [
    fail(`${property}: must be one of ${list}, got ${got}; leave it out for "${accepted[0]}"`, property),
  ];
}

function checkTimeouts(value: unknown): CheckFailure[] {
  if (value === undefined || value === UNKNOWN) return [];
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return [
      fail(
        `timeouts: must be an object, got ${kindOf(value)}; write { requestSeconds: 30, readySeconds: 60 }`,
        "timeouts",
      ),
    ];
  }
  return Object.entries(value).flatMap(([name, seconds]) => checkSeconds(name, seconds));
}

function checkSeconds(name: string, value: unknown): CheckFailure[] {
  const least = LEAST_SECONDS.get(name);
  if (least === undefined) {
    return [fail(`timeouts.${name}: is not known; write requestSeconds or readySeconds`, `timeouts.${name}`)];
  }
  if (value === undefined || value === UNKNOWN) return [];
  if (typeof value === "number" && value >= least && value <= LONGEST_SECONDS) return [];
  const got = typeof value === "number" ? value : kindOf(value);
  return [
    fail(
      `timeouts.${name}: must be a number of seconds from ${least} to ${LONGEST_SECONDS}, got ${got}; leave it out for the default`,
      `timeouts.${name}`,
    ),
  ];
}

function checkDuplicate(inputs: WebhookInputs): CheckFailure[] {
  const { name, baseUrl, apiKey = defaultApiKey() } = inputs;
  if (baseUrl === UNKNOWN || apiKey === undefined || apiKey === UNKNOWN) return [];
  const other = declare({ name, baseUrl, apiKey });
  if (other === undefined) return [];
  // The engine checks them in any order.
  const names = [other, name]
    .toSorted()
    .map((one) => `"${one}"`)
    .join(" and ");
  return [
    fail(
      `${names} declare the same workspace, ${printUrl(baseUrl)} with one API key; a workspace has one webhook: remove one of the two`,
    ),
  ];
}

function warnOfWeakness(inputs: WebhookInputs): void {
  const { name, webhookVerificationKey: key } = inputs;
  if (key !== UNKNOWN && key.length < SHORT_KEY_CHARACTERS) {
    say(
      name,
      `warning: webhookVerificationKey has fewer than ${SHORT_KEY_CHARACTERS} characters and can be guessed; ${KEY_MEND}`,
    );
  }
  for (const property of ["baseUrl", "webhookUrl"] as const) {
    if (inputs[property] !== UNKNOWN && isClearText(inputs[property])) {
      say(name, `warning: ${property} is http, so keys travel in clear; use https`);
    }
  }
}

function isClearText(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

const fail = (reason: string, property = ""): CheckFailure => ({ property, reason });

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
