import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { problemOfBaseUrl } from "../client/internal.js";
import type { FieldProblem } from "../errors/index.js";
import { joinQuotedNames } from "../lib/plain-text.js";
import { printLine, printWarning } from "../lib/progress.js";
import { formatUrl, mayHoldQuery, warningOfUrl } from "../lib/url.js";
import { expected, httpUrl, validatedBy } from "../lib/validate.js";
import { problemOfSecret } from "../lib/values.js";
import {
  type CheckResult,
  type DiffResult,
  type RawInputs,
  missingSource,
  problemsOfKnown,
  toDiff,
  toFailures,
} from "../pulumi/check-and-diff.js";
import type { ResourceSpec } from "../pulumi/dynamic-resource.js";
import { INPUTS, SECRET_PROPERTIES, URL_INPUTS } from "../pulumi/resource-inputs.js";
import { UNKNOWN, isUnknown } from "../pulumi/unknown.js";
import { VERIFIED, isLastApiKey } from "../registration/index.js";
import { verificationKeyShape, warningOfKey } from "../responder/key-rules.js";
import { resourceOf, type Declared, type OperationContext, type Run } from "./run.js";
import { SETTINGS } from "./settings.js";
import { type WebhookInputs, type WebhookState, isKeyDrifted } from "./state.js";

const COMPARED = ["name", ...Object.keys(INPUTS.ApiChatWebhook)] as (keyof WebhookInputs)[];

/**
 * The arguments of an `ApiChatWebhook`, and its secret properties: a URL with a query, because that may hold
 * a token, and `applied`, because it repeats the URL.
 */
export const WEBHOOK_SPEC: ResourceSpec = {
  args: Object.keys(INPUTS.ApiChatWebhook),
  added: ["status"],
  secretsIn: (values) =>
    [
      ...SECRET_PROPERTIES.ApiChatWebhook,
      ...URL_INPUTS.filter((name) => mayHoldQuery(values[name])),
      "applied",
    ].map((name) => [name]),
};

/** The other places where a state contains the webhook URL: secret if the program marks the URL as secret. */
export const SECRETS_OF_DRIFT = [
  ["drift", "expected"],
  ["drift", "actual"],
];

const seconds = (least: number): z.ZodType => {
  const error = expected(`a number of seconds from ${least} to 3600`, "leave it out for the default");
  return z.number({ error }).min(least, { error }).max(3600, { error }).optional();
};

const choice = (values: readonly [string, ...string[]]): z.ZodType => {
  const list = values.map((value) => `"${value}"`).join(", ");
  return z.enum(values, { error: expected(`one of ${list}`, `the default is "${values[0]}"`) }).optional();
};

const KEY_HINT = "copy it again exactly as the platform's support issued it";

const timeoutsError: z.core.$ZodErrorMap = (issue) =>
  issue.code === "unrecognized_keys"
    ? "is not a known timeout; use requestSeconds or readySeconds; in Python, request_seconds or ready_seconds"
    : expected("an object", "write { requestSeconds: 30, readySeconds: 60 }")(issue);

const SCHEMA = z.object({
  baseUrl: validatedBy((url) => (url === undefined ? SETTINGS.baseUrl.missing : problemOfBaseUrl(url))),
  webhookUrl: httpUrl("https://chat.example/webhooks/apichat"),
  webhookVerificationKey: verificationKeyShape(),
  apiKey: validatedBy((key) =>
    key === undefined ? SETTINGS.apiKey.missing : problemOfSecret(key, KEY_HINT),
  ),
  onExisting: choice(["fail", "replace"]),
  preflight: choice(["require", "warn", "off"]),
  timeouts: z
    .strictObject({ requestSeconds: seconds(1), readySeconds: seconds(0) }, { error: timeoutsError })
    .optional(),
});

/** The inputs that a provider's configuration may set. */
export const DEFAULTS = SCHEMA.pick({ baseUrl: true, apiKey: true }).partial();

/** The inputs with their defaults, and what is wrong with them. The texts contain no secrets. */
interface Checked {
  inputs: WebhookInputs;
  problems: FieldProblem[];
  /** Things that work but should be fixed. Each text is printed after its field name. */
  warnings: FieldProblem[];
}

/**
 * Resolves the defaults and finds all problems at once. No I/O. Values that are unknown in a preview are accepted.
 * The inputs get `status: "verified"`, so that a preview shows a change if the webhook is no longer verified.
 */
export function checkInputs(news: RawInputs, context: OperationContext): Checked {
  const { run } = context;
  const baseUrl = news["baseUrl"] ?? run.defaultBaseUrl();
  const found = { ...news, ...(baseUrl === undefined ? {} : { baseUrl }), status: VERIFIED };
  const inputs = found as unknown as WebhookInputs;
  const apiKey = inputs.apiKey ?? run.defaultApiKey();
  const problems: FieldProblem[] = problemsOfKnown(SCHEMA, { ...inputs, apiKey });
  if (problems.length > 0) return { inputs, problems, warnings: [] };
  // The schema requires both.
  const { name } = inputs;
  const declared = { name, baseUrl: inputs.baseUrl, apiKey: apiKey as string };
  if (!isUnknown(Object.values(declared))) problems.push(...declareOnce(declared, context));
  return { inputs, problems, warnings: warningsOf(inputs) };
}

function declareOnce(declared: Declared, context: OperationContext): FieldProblem[] {
  const { name, baseUrl } = declared;
  const other = context.run.declare(declared, resourceOf(declared, context));
  if (other === undefined) return [];
  const names = joinQuotedNames([other, name]);
  const text =
    `${names} declare the same workspace (${formatUrl(baseUrl)} with the same API key), ` +
    "but a workspace has only one webhook; remove one of them, and keep the one that pulumi stack lists, if any";
  return [{ field: "", text }];
}

const warningsOf = ({ webhookVerificationKey, baseUrl, webhookUrl }: WebhookInputs): FieldProblem[] =>
  Object.entries({
    webhookVerificationKey: warningOfKey(webhookVerificationKey),
    baseUrl: warningOfUrl(baseUrl),
    webhookUrl: warningOfUrl(webhookUrl),
  }).flatMap(([field, text]) => (text === undefined ? [] : [{ field, text }]));

export function checkWebhook(news: RawInputs, context: OperationContext): CheckResult<WebhookInputs> {
  const { inputs, problems, warnings } = checkInputs(news, context);
  const problem = context.run.takeLogProblem();
  if (problem !== undefined)
    printWarning(
      news.name,
      `providers of the same run cannot see each other's webhooks: ${problem}; until that is fixed, do not ` +
        "move a webhook between providers, and declare each workspace once",
    );
  for (const { field, text } of warnings) printWarning(news.name, `${field} ${text}`);
  return { inputs, failures: toFailures(problems, [...SECRET_PROPERTIES.ApiChatWebhook, ...URL_INPUTS]) };
}

/**
 * Whether there is anything to update. Changes never cause a replacement: one changed variable could otherwise delete
 * every production webhook. A changed secret gets its own log line, because a preview does not show the change. A new
 * name from an alias is recorded, so that a destroy prints the name that the program uses.
 */
export function diffWebhook(
  state: WebhookState,
  inputs: WebhookInputs,
  context: OperationContext,
): DiffResult {
  const { run } = context;
  const { name } = inputs;
  const resource = resourceOf(inputs, context);
  const changed = COMPARED.filter((one) => !isDeepStrictEqual(state[one], inputs[one]));
  for (const property of ["webhookUrl", "baseUrl"] as const) {
    if (changed.includes(property)) printHiddenUrl(name, property, [state[property], inputs[property]]);
  }
  if (changed.includes("webhookVerificationKey")) printLine(name, "webhookVerificationKey changes");
  if (isKeyDrifted(state)) printLine(name, "webhookVerificationKey: the service has a different key");
  const hasNewApiKey = isNewApiKey(state, inputs, run);
  if (changed.includes("apiKey")) printLine(name, "apiKey changes");
  else if (hasNewApiKey) printLine(name, "the API key is not the one last used; pulumi up tries the new one");
  const changes = [
    ...changed,
    ...(isKeyDrifted(state) ? ["webhookVerificationKey"] : []),
    ...(hasNewApiKey ? ["apiKey"] : []),
    // An earlier set-webhook call may have taken effect without being confirmed, so the URL is set again.
    ...(state.applied.attempted === undefined ? [] : ["webhookUrl"]),
    ...(state.status === VERIFIED ? [] : ["status"]),
    ...(state.botUrl === state.applied.botUrl ? [] : ["botUrl"]),
    ...missingSource(state, inputs),
  ];
  const diff = { ...toDiff(changes), deleteBeforeReplace: false };
  run.recordDiff(state, { name, resource, isUnchanged: !diff.changes });
  return diff;
}

/** A default key is not an input, so it is compared with the key that last reached the workspace. */
function isNewApiKey(state: WebhookState, inputs: WebhookInputs, run: Run): boolean {
  const apiKey = inputs.apiKey ?? run.defaultApiKey();
  return apiKey !== undefined && apiKey !== UNKNOWN && !isLastApiKey(apiKey, state);
}

/** Prints the change of a URL with a query, because such a URL is secret: the preview does not show the change. */
function printHiddenUrl(name: string, property: string, urls: readonly [string, string]): void {
  if (!urls.some((url) => url.includes("?"))) return;
  const [from, to] = urls.map((url) => (url === UNKNOWN ? "[unknown]" : formatUrl(url)));
  printLine(name, `${property} changes${from === to ? " in its query" : ""}: ${from} => ${to}`);
}
