import type { ApiKeyAs, Registration } from "../../client/index.js";
import { fieldName, renderProblem, toPlainText } from "../../errors/index.js";
import { formatUrl, hideQuery } from "../../lib/url.js";
import { createClient, type WantedWebhook } from "../../registration/index.js";
import { deleteNamed, setNamed } from "../../registration/named.js";
import { looksMasked } from "../../responder/key-rules.js";
import { Run as ResourceRun, checkInputs } from "../../webhook/provider.js";
import type { CredentialOptions } from "../credentials.js";
import { EXIT, printResult, warn } from "../output.js";
import { type CommandRun, divertLinesToStderr } from "../run-command.js";
import { UsageError } from "../usage-error.js";

export interface WebhookOptions extends CredentialOptions {
  json?: boolean;
  apiKeyAs: ApiKeyAs;
  requestSeconds: number;
}

/** Reads the credentials of a workspace, and prompts for the API key if no source has it. Sends nothing. */
async function openWorkspace({ requestSeconds, apiKeyAs }: WebhookOptions, { credentials }: CommandRun) {
  divertLinesToStderr();
  const baseUrl = credentials.address("baseUrl");
  const apiKey = await credentials.secret("apiKey");
  const client = createClient({ name: "webhook", baseUrl, timeouts: { requestSeconds }, apiKeyAs }, apiKey);
  return { baseUrl, at: formatUrl(baseUrl), apiKey, client };
}

export interface GetOptions extends WebhookOptions {
  showKey?: boolean;
}

export async function runGet(options: GetOptions, run: CommandRun): Promise<number> {
  const { at, client } = await openWorkspace(options, run);
  const how = { ours: await run.credentials.findSecret("verificationKey"), showKey: options.showKey };
  const seen = await client.getWebhook();
  if (seen === undefined) {
    printResult(options, { registered: false }, () => `nothing is registered at ${at}\n`);
    return EXIT.done;
  }
  const shown = { registered: true, ...toShown(seen, how) };
  printResult(options, shown, () => `registered at ${at}\n${formatRegistration(seen, how)}`);
  return EXIT.done;
}

export interface SetCommandOptions extends WebhookOptions {
  webhookUrl: string;
  replace?: boolean;
  preflight: "require" | "warn" | "off";
  readySeconds: number;
}

export async function runSet(options: SetCommandOptions, run: CommandRun): Promise<number> {
  const { webhookUrl, replace, preflight, readySeconds, requestSeconds } = options;
  const { at, baseUrl, apiKey, client } = await openWorkspace(options, run);
  const ours = await run.credentials.secret("verificationKey");
  const wanted = requireInputs({
    name: "webhook",
    baseUrl,
    apiKey,
    webhookUrl,
    webhookVerificationKey: ours,
    onExisting: replace ? "replace" : "fail",
    preflight,
    timeouts: { readySeconds, requestSeconds },
  });
  const { how: result, previous, registration: seen } = await setNamed(client, wanted);
  const isReplaced = result === "replaced" && previous !== undefined;
  const replaced = isReplaced ? { replaced: hideQuery(previous.webhookUrl) } : {};
  const from = isReplaced ? `, in place of ${formatUrl(previous.webhookUrl)}` : "";
  const shown = { result, ...toShown(seen, { ours }), ...replaced };
  printResult(options, shown, () => `${result} at ${at}${from}\n${formatRegistration(seen, { ours })}`);
  return EXIT.done;
}

/** Returns the inputs with their defaults, and prints warnings. Throws a UsageError with everything that is wrong. */
function requireInputs(given: Parameters<typeof checkInputs>[0]): WantedWebhook {
  const { inputs, problems, warnings } = checkInputs(given, { run: new ResourceRun() });
  if (problems.length > 0)
    throw new UsageError(problems.map((problem) => renderProblem(problem, "command_line")).join("\n"));
  for (const { field, text } of warnings) warn(`${fieldName(field, "command_line")} ${text}`);
  return inputs;
}

export interface DeleteOptions extends WebhookOptions {
  webhookUrl: string;
  replace?: boolean;
}

export async function runDelete(options: DeleteOptions, run: CommandRun): Promise<number> {
  const { at, baseUrl, client } = await openWorkspace(options, run);
  const webhookUrl = options.replace ? undefined : options.webhookUrl;
  const seen = await deleteNamed(client, { baseUrl, webhookUrl });
  const deleted = seen
    ? { result: "deleted", webhookUrl: hideQuery(seen.webhookUrl) }
    : { result: "nothing" };
  printResult(options, deleted, () =>
    seen ? `deleted ${formatUrl(seen.webhookUrl)} at ${at}\n` : `nothing is registered at ${at}\n`,
  );
  return EXIT.done;
}

/** Our key, for comparison, and whether to show the registered key. */
interface ShowOptions {
  ours?: string | undefined;
  showKey?: boolean | undefined;
}

/** A registration for scripts. Hides the values of the query, and the key unless `showKey`. */
const toShown = (seen: Registration, { ours, showKey }: ShowOptions) => ({
  webhookUrl: hideQuery(seen.webhookUrl),
  status: seen.status,
  botUrl: seen.botUrl,
  keyMatches: compareKeys(seen.webhookVerificationKey, ours),
  ...(showKey ? { key: seen.webhookVerificationKey } : {}),
});

/** Whether the key is ours. Returns null if ours is unknown, or if the service does not return the registered key. */
function compareKeys(key: string, ours: string | undefined): boolean | null {
  if (ours === undefined || key === "") return null;
  if (key === ours) return true;
  return looksMasked(key) ? null : false;
}

function describeKey(key: string, ours: string | undefined): string {
  if (key === "") return "not shown";
  const matches = compareKeys(key, ours);
  if (matches !== null) return matches ? "set, the same as yours" : "set, different from yours";
  return looksMasked(key) ? "set, masked by the service" : "set";
}

const formatRegistration = (seen: Registration, { ours, showKey }: ShowOptions): string =>
  [
    ["url", hideQuery(seen.webhookUrl)],
    ["status", seen.status],
    ["bot url", seen.botUrl],
    ["key", showKey ? seen.webhookVerificationKey : describeKey(seen.webhookVerificationKey, ours)],
  ]
    .map(([label = "", text = ""]) => `  ${label.padEnd(7)}  ${toPlainText(text)}\n`)
    .join("");
