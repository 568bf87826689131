import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import {
  UNKNOWN,
  problemOfSecret,
  problemOfUrl,
  missingSource,
  formatGivenUrl,
  toDiff,
  warningOfKey,
  warningOfUrl,
  type DiffResult,
  type RawInputs,
} from "../lib/checks.js";
import { expected, httpUrl, orUnknown, problemsOf, verificationKey, validatedBy } from "../lib/validate.js";
import { isSameUrl, formatUrl } from "../lib/url.js";
import { printLine } from "../lib/provider-process.js";
import { removalCommand, type FieldProblem } from "../errors/index.js";
import {
  COMPARED_INPUT_NAMES,
  SETTINGS,
  VERIFIED,
  isKeyDrifted,
  isLastApiKey,
  isOurUrl,
  type OperationContext,
  type WebhookInputs,
  type WebhookState,
} from "./contract.js";
import {
  declare,
  defaultApiKey,
  defaultBaseUrl,
  isDeclared,
  joinQuotedNames,
  resourceOf,
  showState,
} from "./run.js";

/** The result of check. `problems` and `warnings` contain no secret values. */
export interface CheckedWebhook {
  inputs: WebhookInputs;
  problems: FieldProblem[];
  /** Things that work but should be fixed. Each text is printed after its field name. */
  warnings: FieldProblem[];
}

const seconds = (least: number): z.ZodType => {
  const error = expected(`a number of seconds from ${least} to 3600`, "leave it out for the default");
  return orUnknown(z.number({ error }).min(least, { error }).max(3600, { error }));
};

const choice = (values: readonly [string, ...string[]]): z.ZodType => {
  const list = values.map((value) => `"${value}"`).join(", ");
  return orUnknown(z.enum(values, { error: expected(`one of ${list}`, `leave it out for "${values[0]}"`) }));
};

function problemOfBaseUrl(value: unknown): string | undefined {
  if (value === undefined) return SETTINGS.baseUrl.missing;
  const problem = problemOfUrl(value, "https://platform.example/acme/apichat");
  if (problem !== undefined || value === UNKNOWN) return problem;
  if (!new URL(value as string).searchParams.has("action")) return undefined;
  return `must not hold the query parameter "action", which is added to each call, got "${formatGivenUrl(value)}"; leave it out`;
}

const problemOfApiKey = (value: unknown): string | undefined =>
  value === undefined
    ? SETTINGS.apiKey.missing
    : problemOfSecret(value, "copy it again exactly as the platform's support issued it");

const timeoutsError: z.core.$ZodErrorMap = (issue) =>
  issue.code === "unrecognized_keys"
    ? "is not a known timeout; use requestSeconds or readySeconds"
    : expected("an object", "write { requestSeconds: 30, readySeconds: 60 }")(issue);

const SCHEMA = z.object({
  baseUrl: validatedBy(problemOfBaseUrl),
  webhookUrl: httpUrl("https://chat.example/webhooks/apichat"),
  webhookVerificationKey: verificationKey(),
  apiKey: validatedBy(problemOfApiKey),
  onExisting: choice(["fail", "replace"]),
  preflight: choice(["require", "warn", "off"]),
  timeouts: orUnknown(
    z.strictObject({ requestSeconds: seconds(1), readySeconds: seconds(0) }, { error: timeoutsError }),
  ),
});

/**
 * Resolves the defaults and finds everything that is wrong at once. No I/O. Values that a preview does not know pass.
 * The inputs get `status: "verified"`, so that a preview shows a lost status as a change.
 */
export function checkWebhook(news: RawInputs, context: OperationContext = {}): CheckedWebhook {
  const baseUrl = news["baseUrl"] ?? defaultBaseUrl();
  const inputs = {
    ...news,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    status: VERIFIED,
  } as unknown as WebhookInputs;
  const problems: FieldProblem[] = problemsOf(SCHEMA, {
    ...inputs,
    apiKey: inputs.apiKey ?? defaultApiKey(),
  });
  if (problems.length > 0) return { inputs, problems, warnings: [] };
  return {
    inputs,
    problems: findDuplicateWorkspace(inputs, resourceOf(inputs, context)),
    warnings: findWarnings(inputs),
  };
}

function findDuplicateWorkspace(inputs: WebhookInputs, resource: string): FieldProblem[] {
  const { name, baseUrl, apiKey = defaultApiKey() } = inputs;
  if (baseUrl === UNKNOWN || apiKey === undefined || apiKey === UNKNOWN) return [];
  const other = declare(inputs, apiKey, resource);
  if (other === undefined) return [];
  const text = `${joinQuotedNames([other, name])} declare the same workspace (${formatUrl(baseUrl)} with the same API key), but a workspace has only one webhook; remove one of them`;
  return [{ field: "", text }];
}

function findWarnings({ webhookVerificationKey, baseUrl, webhookUrl }: WebhookInputs): FieldProblem[] {
  const found = {
    webhookVerificationKey: warningOfKey(webhookVerificationKey),
    baseUrl: warningOfUrl(baseUrl),
    webhookUrl: warningOfUrl(webhookUrl),
  };
  return Object.entries(found).flatMap(([field, text]) => (text === undefined ? [] : [{ field, text }]));
}

/**
 * Whether there is anything to update. Changes never cause a replacement: one changed variable could otherwise delete
 * every production webhook. A changed secret gets its own log line, because a preview does not show the change. A new
 * name from an alias is recorded, so that a destroy prints the name that the program uses.
 */
export function diffWebhook(
  state: WebhookState,
  inputs: WebhookInputs,
  context: OperationContext = {},
): DiffResult {
  const { name } = inputs;
  const resource = resourceOf(inputs, context);
  const changed = COMPARED_INPUT_NAMES.filter((one) => !isDeepStrictEqual(state[one], inputs[one]));
  for (const property of ["webhookUrl", "baseUrl"] as const) {
    if (changed.includes(property)) printHiddenUrl(name, property, [state[property], inputs[property]]);
  }
  if (changed.includes("webhookVerificationKey")) printLine(name, "webhookVerificationKey changes");
  if (isKeyDrifted(state))
    printLine(name, isDeclared(inputs, resource) ? foretellDriftedKey(state, inputs) : DRIFTED_KEY_LINE);
  const hasNewApiKey = isNewApiKey(state, inputs);
  if (changed.includes("apiKey")) printLine(name, "apiKey changes");
  else if (hasNewApiKey) printLine(name, "the API key differs from the one last used; pulumi up will try it");
  const diff = toDiff([
    ...changed,
    ...(isKeyDrifted(state) ? ["webhookVerificationKey"] : []),
    ...(hasNewApiKey ? ["apiKey"] : []),
    // A set-webhook call that may have taken effect without being confirmed.
    ...(state.applied.attempted === undefined ? [] : ["webhookUrl"]),
    ...(state.status === VERIFIED ? [] : ["status"]),
    ...(state.botUrl === state.applied.botUrl ? [] : ["botUrl"]),
    ...missingSource(state, inputs),
  ]);
  showState(state, { name, resource, isUnchanged: !diff.changes });
  return diff;
}

/**
 * A key from the environment or the configuration is not an input, so it is compared with the key that last reached the
 * workspace.
 */
function isNewApiKey(state: WebhookState, { apiKey = defaultApiKey() }: WebhookInputs): boolean {
  return apiKey !== undefined && apiKey !== UNKNOWN && !isLastApiKey(apiKey, state);
}

/** Printed in a refresh, whose inputs are not the program's. */
const DRIFTED_KEY_LINE = "webhookVerificationKey: the service has a different key";

/** Says what `pulumi up` will do about a drifted key. Applies the rule of update to what the last refresh found. */
function foretellDriftedKey(state: WebhookState, { webhookUrl, onExisting }: WebhookInputs): string {
  const isOurRegistration =
    isOurUrl(state.webhookUrl, state.applied) || isSameUrl(state.webhookUrl, webhookUrl);
  const shown = { baseUrl: formatUrl(state.baseUrl), webhookUrl: formatUrl(state.webhookUrl) };
  return isOurRegistration || onExisting === "replace"
    ? "webhookVerificationKey: the last refresh found a different key; pulumi up will set ours again"
    : `the last refresh found a different URL and a different key, so this is someone else's webhook: while it is registered, pulumi up fails with a conflict. If you may remove it, run: ${removalCommand(shown)}; then run pulumi up again`;
}

/** A URL with a query is a secret, see webhook.ts; without one the preview itself shows the change. */
function printHiddenUrl(name: string, property: string, urls: readonly [string, string]): void {
  if (!urls.some((url) => url.includes("?"))) return;
  const [from, to] = urls.map((url) => (url === UNKNOWN ? "[unknown]" : formatUrl(url)));
  printLine(name, `${property} changes${from === to ? " in its query" : ""}: ${from} => ${to}`);
}
