import type { ApiKeyAs, Registration } from "../../client/index.js";
import { ApiChatError, commandLine, fieldName, renderProblem, toPlainText } from "../../errors/index.js";
import { botCodeOf, formatUrl, hideQuery, isSameBot, isSameUrl } from "../../lib/url.js";
import {
  type WantedWebhook,
  type WorkspaceClient,
  createClient,
  ensure,
  getWebhookBeforeSet,
  rejectForeign,
  remove,
  removeOther,
} from "../../registration/index.js";
import { looksMasked } from "../../responder/key-rules.js";
import { Run as ResourceRun, checkInputs } from "../../webhook/provider.js";
import type { CredentialOptions, Credentials } from "../credentials.js";
import { EXIT, printResult, warn } from "../output.js";
import { textOf } from "../report-error.js";
import { type CommandRun, divertLinesToStderr } from "../run-command.js";
import { UsageError } from "../usage-error.js";

/** The options of the commands on one workspace. */
export interface WebhookOptions extends CredentialOptions {
  json?: boolean;
  apiKeyAs: ApiKeyAs;
  /** In seconds. */
  requestSeconds: number;
}

/** One workspace as the options name it. */
interface NamedWorkspace {
  credentials: Credentials;
  baseUrl: string;
  /** The base URL as it is printed. */
  at: string;
  apiKey: string;
  /** The expected bot. */
  botUrl: string | undefined;
  client: WorkspaceClient;
}

/** Reads the credentials of a workspace, and prompts for the API key if no source has it. Sends nothing. */
async function openWorkspace(options: WebhookOptions, { credentials }: CommandRun): Promise<NamedWorkspace> {
  divertLinesToStderr();
  const baseUrl = await credentials.address("baseUrl");
  const botUrl = await credentials.findAddress("botUrl");
  const apiKey = await credentials.secret("apiKey");
  const { requestSeconds, apiKeyAs } = options;
  const client = createClient({ name: "webhook", baseUrl, timeouts: { requestSeconds }, apiKeyAs }, apiKey);
  return { credentials, baseUrl, at: formatUrl(baseUrl), apiKey, botUrl, client };
}

export interface GetOptions extends WebhookOptions {
  showKey?: boolean;
}

/** Prints what is registered. Returns the exit code. */
export async function runGet(options: GetOptions, run: CommandRun): Promise<number> {
  const workspace = await openWorkspace(options, run);
  const { at, client, credentials } = workspace;
  const how = { ours: await credentials.findSecret("verificationKey"), showKey: options.showKey };
  const seen = await client.getWebhook();
  if (seen === undefined) {
    printResult(options, { registered: false }, () => `nothing is registered at ${at}\n`);
    return EXIT.done;
  }
  const otherBot = describeOtherBot(seen, workspace);
  if (otherBot !== undefined) warn(`${otherBot}; check the base URL and the API key`);
  const shown = { registered: true, ...toShown(seen, how) };
  printResult(options, shown, () => `registered at ${at}\n${formatRegistration(seen, how)}`);
  return EXIT.done;
}

export interface SetCommandOptions extends WebhookOptions {
  webhookUrl: string;
  replace?: boolean;
  preflight: "require" | "warn" | "off";
  /** In seconds. */
  readySeconds: number;
}

/** Registers a webhook as the resource does, and prints what is registered now. Returns the exit code. */
export async function runSet(options: SetCommandOptions, cli: CommandRun): Promise<number> {
  const workspace = await openWorkspace(options, cli);
  const { at, client } = workspace;
  const inputs = await readInputs(options, workspace);
  let isObserved = false;
  const observe = async (): Promise<Registration | undefined> => {
    const seen = await client.getWebhook();
    isObserved = true;
    return seen;
  };
  const previous = await getWebhookBeforeSet({ getWebhook: observe }, inputs);
  if (previous !== undefined) {
    rejectOtherBot(previous, workspace, "set-webhook");
    rejectForeign(previous, inputs);
  }
  const ensured = await ensure({
    client,
    wanted: inputs,
    seen: previous,
    rejectedRounds: REJECTED_ROUNDS,
  });
  if (ensured.failure) throw ensured.failure;
  const { registration: seen, how: result } = ensured;
  // With --replace the command continues even if reading the registration failed; the new one is then not undone.
  const mayUndo = isObserved || !options.replace;
  if (previous === undefined) await rejectOtherBotAfterSet(seen, workspace, mayUndo);
  const how = { ours: inputs.webhookVerificationKey };
  const isReplaced = result === "replaced" && previous !== undefined;
  const replaced = isReplaced ? { replaced: hideQuery(previous.webhookUrl) } : {};
  const from = isReplaced ? `, in place of ${formatUrl(previous.webhookUrl)}` : "";
  const shown = { result, ...toShown(seen, how), ...replaced };
  printResult(options, shown, () => `${result} at ${at}${from}\n${formatRegistration(seen, how)}`);
  return EXIT.done;
}

/** Stop after this many rejections of the key, because nobody deploys the endpoint with this command. */
const REJECTED_ROUNDS = 3;

async function readInputs(
  { webhookUrl, replace, preflight, readySeconds, requestSeconds }: SetCommandOptions,
  { baseUrl, apiKey, credentials }: NamedWorkspace,
): Promise<WantedWebhook> {
  const given = {
    name: "webhook",
    baseUrl,
    apiKey,
    webhookUrl,
    webhookVerificationKey: await credentials.secret("verificationKey"),
    onExisting: replace ? "replace" : "fail",
    preflight,
    timeouts: { readySeconds, requestSeconds },
  };
  return requireInputs(given);
}

/** Returns the inputs with their defaults, and prints warnings. Throws a UsageError with everything that is wrong. */
export function requireInputs(given: Parameters<typeof checkInputs>[0]): WantedWebhook {
  const { inputs, problems, warnings } = checkInputs(given, { run: new ResourceRun() });
  if (problems.length > 0)
    throw new UsageError(problems.map((problem) => renderProblem(problem, "command_line")).join("\n"));
  for (const { field, text } of warnings) warn(`${fieldName(field, "command_line")} ${text}`);
  return inputs;
}

/**
 * If nothing was registered, the bot is not known before set-webhook. If it is not the given one, removes the registration again and
 * throws `conflict`. Keeps it if it is unknown what was registered before.
 */
async function rejectOtherBotAfterSet(
  seen: Registration,
  workspace: NamedWorkspace,
  mayUndo: boolean,
): Promise<void> {
  const otherBot = describeOtherBot(seen, workspace);
  if (otherBot === undefined) return;
  const outcome = mayUndo ? await undo(seen, workspace) : `${describe(seen)} is registered there now`;
  throw new ApiChatError(
    "conflict",
    `${workspace.at} is a different workspace: ${otherBot}. This shows only after set-webhook; ${outcome}`,
    { operation: "set-webhook", hints: [{ id: "name_workspace" }] },
  );
}

/** Removes our registration. Describes what is registered now. */
async function undo(seen: Registration, workspace: NamedWorkspace): Promise<string> {
  try {
    const now = await workspace.client.getWebhook();
    if (now !== undefined && !isSameRegistration(now, seen))
      return `somebody else has set ${describe(now)} in the meantime, which is registered there now`;
    if (now !== undefined) await removeSeen(seen, workspace);
    return "what was set was removed again, and nothing is registered there now";
  } catch (error) {
    const reason = textOf(error);
    return `${describe(seen)} was set and could not be removed again (${reason}); ${commandLine()} webhook delete removes it`;
  }
}

const describe = ({ webhookUrl }: Registration): string => formatUrl(webhookUrl);

export interface DeleteOptions extends WebhookOptions {
  webhookUrl: string;
  replace?: boolean;
}

/** Removes the registration if it is the one that the options name, and prints that. Returns the exit code. */
export async function runDelete(options: DeleteOptions, run: CommandRun): Promise<number> {
  const workspace = await openWorkspace(options, run);
  const { at, client } = workspace;
  const seen = await client.getWebhook();
  if (seen === undefined) {
    printResult(options, { result: "nothing" }, () => `nothing is registered at ${at}\n`);
    return EXIT.done;
  }
  if (!options.replace) requireNamed(seen, options.webhookUrl, workspace);
  await removeSeen(seen, workspace);
  const deleted = { result: "deleted", webhookUrl: hideQuery(seen.webhookUrl) };
  printResult(options, deleted, () => `deleted ${describe(seen)} at ${at}\n`);
  return EXIT.done;
}

/** Throws `conflict` unless the registration has the given URL and bot. */
function requireNamed(seen: Registration, webhookUrl: string, workspace: NamedWorkspace): void {
  rejectOtherBot(seen, workspace, "delete-webhook");
  // Also accepts a URL copied from our output, without the values of its query.
  if (isSameUrl(seen.webhookUrl, webhookUrl) || hideQuery(seen.webhookUrl) === webhookUrl) return;
  throw new ApiChatError(
    "conflict",
    `${workspace.at} has the webhook ${describe(seen)}, not ${formatUrl(webhookUrl)}, and it stays`,
    { operation: "delete-webhook", hints: [removeOther(workspace.baseUrl, seen.webhookUrl)] },
  );
}

/** Throws `conflict` if a bot URL is given and the workspace has a different bot: then it is a different workspace. */
function rejectOtherBot(
  seen: Registration,
  workspace: NamedWorkspace,
  operation: "set-webhook" | "delete-webhook",
): void {
  const otherBot = describeOtherBot(seen, workspace);
  if (otherBot === undefined) return;
  const hints = [{ id: "name_workspace" as const }];
  throw new ApiChatError("conflict", `${otherBot}, and nothing was written`, { operation, hints });
}

/** Describes how the workspace's bot differs from the given one. Returns undefined if none is given or it is the same. */
function describeOtherBot(seen: Registration, { botUrl }: NamedWorkspace): string | undefined {
  if (botUrl === undefined || isSameBot(seen.botUrl, botUrl)) return undefined;
  return `the workspace has the bot ${botCodeOf(seen.botUrl)}, not ${botCodeOf(botUrl)}`;
}

/** Removes the registration that was seen, and nothing that somebody has set in the meantime. */
const removeSeen = (seen: Registration, { client, baseUrl }: NamedWorkspace): Promise<void> =>
  remove(client, baseUrl, (now) => isSameRegistration(now, seen));

const isSameRegistration = (now: Registration | undefined, seen: Registration): boolean =>
  now !== undefined && isSameUrl(now.webhookUrl, seen.webhookUrl) && isSameBot(now.botUrl, seen.botUrl);

/** Our key, to compare with, and whether to show the key. */
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

/** Whether the key is ours. Returns null if ours is not known, or the service does not show its own. */
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

/** A registration for people. */
const formatRegistration = (seen: Registration, { ours, showKey }: ShowOptions): string =>
  [
    ["url", hideQuery(seen.webhookUrl)],
    ["status", seen.status],
    ["bot url", seen.botUrl],
    ["key", showKey ? seen.webhookVerificationKey : describeKey(seen.webhookVerificationKey, ours)],
  ]
    .map(([label = "", text = ""]) => `  ${label.padEnd(7)}  ${toPlainText(text)}\n`)
    .join("");
