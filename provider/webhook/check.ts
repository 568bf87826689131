import * as z from "zod";
import {
  UNKNOWN,
  problemOfSecret,
  problemOfUrl,
  showUrl,
  warningOfKey,
  warningOfUrl,
  type RawInputs,
} from "../lib/checks.js";
import { expected, httpUrl, orUnknown, problemsOf, verificationKey, worded } from "../lib/validate.js";
import { printUrl } from "../lib/url.js";
import type { FieldProblem } from "../errors/index.js";
import { VERIFIED, type WebhookInputs } from "./contract.js";
import { API_KEY_MISSING, declare, defaultApiKey, defaultBaseUrl, quoteNames } from "./run.js";

/** What check finds. No value of a secret is in it. */
export interface CheckedWebhook {
  inputs: WebhookInputs;
  problems: FieldProblem[];
  /** What works and should be fixed nevertheless: each follows its field. */
  warnings: FieldProblem[];
}

const BASE_URL_MISSING =
  "is missing; give the address of the workspace's registration interface as the argument baseUrl, with: " +
  "pulumi config set apichat:baseUrl, or as the environment variable APICHAT_BASE_URL";

const seconds = (least: number): z.ZodType => {
  const error = expected(`a number of seconds from ${least} to 3600`, "leave it out for the default");
  return orUnknown(z.number({ error }).min(least, { error }).max(3600, { error }));
};

const choice = (values: readonly [string, ...string[]]): z.ZodType => {
  const list = values.map((value) => `"${value}"`).join(", ");
  return orUnknown(z.enum(values, { error: expected(`one of ${list}`, `leave it out for "${values[0]}"`) }));
};

function problemOfBaseUrl(value: unknown): string | undefined {
  if (value === undefined) return BASE_URL_MISSING;
  const problem = problemOfUrl(value, "https://platform.example/acme/apichat");
  if (problem !== undefined || value === UNKNOWN) return problem;
  if (!new URL(value as string).searchParams.has("action")) return undefined;
  return `must not hold the query parameter "action", which is added to each call, got "${showUrl(value)}"; leave it out`;
}

const problemOfApiKey = (value: unknown): string | undefined =>
  value === undefined ? API_KEY_MISSING : problemOfSecret(value, "copy it again from the platform's support");

const timeoutsError: z.core.$ZodErrorMap = (issue) =>
  issue.code === "unrecognized_keys"
    ? "is not known; write requestSeconds or readySeconds"
    : expected("an object", "write { requestSeconds: 30, readySeconds: 60 }")(issue);

const SCHEMA = z.object({
  baseUrl: worded(problemOfBaseUrl),
  webhookUrl: httpUrl("https://chat.example/webhooks/apichat"),
  webhookVerificationKey: verificationKey(),
  apiKey: worded(problemOfApiKey),
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
export function checkWebhook(news: RawInputs): CheckedWebhook {
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
  return { inputs, problems: problemsOfTwin(inputs), warnings: findWarnings(inputs) };
}

function problemsOfTwin(inputs: WebhookInputs): FieldProblem[] {
  const { name, baseUrl, apiKey = defaultApiKey() } = inputs;
  if (baseUrl === UNKNOWN || apiKey === undefined || apiKey === UNKNOWN) return [];
  const other = declare(inputs, apiKey);
  if (other === undefined) return [];
  const text = `${quoteNames([other, name])} declare the same workspace, ${printUrl(baseUrl)} with one API key; a workspace has one webhook: remove one of the two`;
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
