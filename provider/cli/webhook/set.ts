import { ApiChatError, type Registration } from "../../client/index.js";
import { fieldName, renderProblem } from "../../errors/index.js";
import { hideQuery, isSameUrl, formatUrl } from "../../lib/url.js";
import { checkInputs } from "../../webhook/inputs.js";
import { getWebhookBeforeSet, refuseForeign } from "../../webhook/lifecycle.js";
import { isRegistered, register } from "../../webhook/register.js";
import { Run as ResourceRun } from "../../webhook/run.js";
import type { WebhookInputs } from "../../webhook/state.js";
import { EXIT, printResult, warn } from "../output.js";
import type { Run } from "../run-command.js";
import { UsageError } from "../usage-error.js";
import {
  type Access,
  describeOtherBot,
  formatRegistration,
  isSameRegistration,
  openWorkspace,
  refuseOtherBot,
  removeSeen,
  toShown,
  type WebhookOptions,
} from "./access.js";
import { textOf } from "../report-error.js";

export interface SetOptions extends WebhookOptions {
  webhookUrl: string;
  replace?: boolean;
  preflight: "require" | "warn" | "off";
  /** In seconds. */
  readySeconds: number;
}

/** Registers a webhook as the resource does, and prints what is registered now. Returns the exit code. */
export async function setWebhook(options: SetOptions, run: Run): Promise<number> {
  const access = await openWorkspace(options, run);
  const { client } = access;
  const resources = new ResourceRun();
  const inputs = await readInputs(options, access, resources);
  let isObserved = false;
  const getWebhook = async (): Promise<Registration | undefined> => {
    const seen = await client.getWebhook();
    isObserved = true;
    return seen;
  };
  const before = await getWebhookBeforeSet({ getWebhook }, inputs);
  if (before !== undefined) {
    await refuseOtherBot(before, access, "set-webhook");
    refuseForeign(before, inputs);
  }
  const isDone = before !== undefined && isRegistered(before, inputs);
  const seen = isDone
    ? before
    : await register({ run: resources, inputs, client, seen: before, refusedRounds: REFUSED_ROUNDS });
  // If nothing was registered, the bot was not known before. With --replace the command continues even if reading the
  // registration failed; the new one is then not undone.
  const mayUndo = isObserved || inputs.onExisting === "fail";
  if (before === undefined) await refuseOtherBotAfterSet(seen, access, mayUndo);
  const ours = { ours: inputs.webhookVerificationKey };
  const isReplaced = !isDone && before !== undefined && !isSameUrl(before.webhookUrl, inputs.webhookUrl);
  const result = isDone ? "unchanged" : !before ? "registered" : isReplaced ? "replaced" : "updated";
  const replaced = isReplaced ? { replaced: hideQuery(before.webhookUrl) } : {};
  const from = isReplaced ? `, in place of ${formatUrl(before.webhookUrl)}` : "";
  printResult(
    options,
    { result, ...toShown(seen, ours), ...replaced },
    () => `${result} at ${formatUrl(inputs.baseUrl)}${from}\n${formatRegistration(seen, ours)}`,
  );
  return EXIT.done;
}

/** Stop after this many refusals of the key, because nobody deploys the endpoint with this command. */
const REFUSED_ROUNDS = 3;

async function readInputs(
  options: SetOptions,
  { credentials, ...access }: Access,
  run: ResourceRun,
): Promise<WebhookInputs> {
  const { webhookUrl, replace = false, preflight, readySeconds, requestSeconds } = options;
  const given = {
    name: "webhook",
    baseUrl: access.baseUrl,
    apiKey: access.apiKey,
    webhookUrl,
    webhookVerificationKey: await credentials.secret("verificationKey"),
    onExisting: replace ? "replace" : "fail",
    preflight,
    timeouts: { readySeconds, requestSeconds },
  };
  const { inputs, problems, warnings } = checkInputs(given, { run });
  if (problems.length > 0)
    throw new UsageError(problems.map((problem) => renderProblem(problem, "command_line")).join("\n"));
  for (const { field, text } of warnings) warn(`${fieldName(field, "command_line")} ${text}`);
  return inputs;
}

/**
 * After a first set-webhook: if the bot is not the given one, removes the registration again and throws `conflict`. Keeps it if it is
 * unknown what was registered before.
 */
async function refuseOtherBotAfterSet(seen: Registration, access: Access, mayUndo: boolean): Promise<void> {
  const otherBot = await describeOtherBot(seen, access);
  if (otherBot === undefined) return;
  const outcome = mayUndo ? await undo(seen, access) : `${describe(seen)} is registered there now`;
  throw new ApiChatError(
    "conflict",
    `${formatUrl(access.baseUrl)} is a different workspace: ${otherBot}. This shows only after set-webhook; ${outcome}`,
    { operation: "set-webhook", hints: [{ id: "name_workspace" }] },
  );
}

/** Removes our registration. Describes what is registered now. */
async function undo(seen: Registration, access: Access): Promise<string> {
  try {
    const now = await access.client.getWebhook();
    if (now !== undefined && !isSameRegistration(now, seen))
      return `somebody else has set ${describe(now)} in the meantime, which is registered there now`;
    if (now !== undefined) await removeSeen(seen, access);
    return "what was set was removed again, and nothing is registered there now";
  } catch (error) {
    const reason = textOf(error);
    return `${describe(seen)} was set and could not be removed again (${reason}); apichat webhook delete removes it`;
  }
}

const describe = ({ webhookUrl }: Registration): string => formatUrl(webhookUrl);
