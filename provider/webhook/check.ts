import { didYouMean } from "../lib/did-you-mean.js";
import {
  checkChoice,
  checkSecret,
  checkUrl,
  fail,
  isClearText,
  kindOf,
  showUrl,
  type CheckFailure,
  type CheckResult,
  type RawInputs,
} from "../resource/checks.js";
import { checkVerificationKey, warnOfShortKey } from "../resource/key-check.js";
import { say } from "../resource/progress.js";
import { UNKNOWN } from "../resource/unknown.js";
import { printUrl } from "../lib/url.js";
import { VERIFIED, type WebhookInputs } from "./inputs.js";
import { declare, quoteNames } from "./managed.js";
import { API_KEY_MISSING, BASE_URL_MISSING, defaultApiKey, defaultBaseUrl } from "./settings.js";

const LONGEST_SECONDS = 3600;
const LEAST_SECONDS = new Map([
  ["requestSeconds", 1],
  ["readySeconds", 0],
]);

/**
 * Resolves the defaults and says everything that is wrong at once. No I/O. Values that a preview does not know pass.
 * The inputs get `status: "verified"`, so that a preview shows a lost status as a change.
 */
export function check(_olds: unknown, news: RawInputs): CheckResult<WebhookInputs> {
  const inputs = { ...news, status: VERIFIED } as RawInputs & { status: string };
  if (inputs["baseUrl"] === undefined) {
    const baseUrl = defaultBaseUrl();
    if (baseUrl !== undefined) inputs["baseUrl"] = baseUrl;
  }
  const failures = [
    ...checkBaseUrl(inputs["baseUrl"]),
    ...checkUrl("webhookUrl", inputs["webhookUrl"], "https://chat.example/webhooks/apichat"),
    ...checkVerificationKey("webhookVerificationKey", inputs["webhookVerificationKey"]),
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

function checkApiKey(given: unknown): CheckFailure[] {
  const value = given === undefined ? defaultApiKey() : given;
  if (value === undefined) return [fail(API_KEY_MISSING)];
  return checkSecret("apiKey", value, "copy it again from the platform's support");
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
    const near = didYouMean(name, [...LEAST_SECONDS.keys()]);
    const reason = `timeouts.${name}: is not known${near}; write requestSeconds or readySeconds`;
    return [fail(reason, `timeouts.${name}`)];
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
  const other = declare(inputs, apiKey);
  if (other === undefined) return [];
  return [
    fail(
      `${quoteNames([other, name])} declare the same workspace, ${printUrl(baseUrl)} with one API key; a workspace has one webhook: remove one of the two`,
    ),
  ];
}

function warnOfWeakness(inputs: WebhookInputs): void {
  const { name, webhookVerificationKey: key } = inputs;
  warnOfShortKey(name, "webhookVerificationKey", key);
  for (const property of ["baseUrl", "webhookUrl"] as const) {
    if (inputs[property] !== UNKNOWN && isClearText(inputs[property])) {
      say(name, `warning: ${property} is http, so keys travel in clear; use https`);
    }
  }
}
