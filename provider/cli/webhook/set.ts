import { ApiChatError, type Registration } from "../../client/index.js";
import { fieldName, renderProblem } from "../../errors/index.js";
import { hideQuery, isSameBot, isSameUrl, formatUrl } from "../../lib/url.js";
import { checkInputs } from "../../webhook/inputs.js";
import { getWebhookBeforeSet, refuseForeign, removeRegistration } from "../../webhook/lifecycle.js";
import { isRegistered, register } from "../../webhook/register.js";
import { Run } from "../../webhook/run.js";
import type { WebhookInputs } from "../../webhook/state.js";
import { EXIT, print, printJson, warn } from "../output.js";
import type { Interruption } from "../run-command.js";
import { UsageError } from "../usage-error.js";
import {
  type Access,
  describeOtherBot,
  formatRegistration,
  openWorkspace,
  refuseOtherBot,
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

type Result = "registered" | "unchanged" | "updated" | "replaced";

/** Registers a webhook as the resource does, and prints what is registered now. Gives the exit code. */
export async function setWebhook(options: SetOptions, interruption: Interruption): Promise<number> {
  const access = await openWorkspace(options, interruption);
  const { client } = access;
  const run = new Run();
  const inputs = await readInputs(options, access, run);
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
    : await register({ run, inputs, client, seen: before, refusedRounds: REFUSED_ROUNDS });
  // If nothing was registered, the bot was not known before. With --replace the command continues even if reading the
  // registration failed; the new one is then not undone.
  const mayTakeBack = isObserved || inputs.onExisting === "fail";
  if (before === undefined) await refuseOtherBotAfterSet(seen, access, mayTakeBack);
  printResult(options, { before, seen, inputs, result: isDone ? "unchanged" : resultOf(before, inputs) });
  return EXIT.done;
}

/** A wrong key is not waited out: nobody deploys the endpoint with this command. */
const REFUSED_ROUNDS = 3;

async function readInputs(
  options: SetOptions,
  { credentials, ...access }: Access,
  run: Run,
): Promise<WebhookInputs> {
  const { webhookUrl, replace = false, preflight, readySeconds, requestSeconds } = options;
  const { inputs, problems, warnings } = checkInputs(
    {
      name: "webhook",
      baseUrl: access.baseUrl,
      apiKey: access.apiKey,
      webhookUrl,
      webhookVerificationKey: await credentials.secret("verificationKey"),
      onExisting: replace ? "replace" : "fail",
      preflight,
      timeouts: { readySeconds, requestSeconds },
    },
    { run },
  );
  if (problems.length > 0)
    throw new UsageError(problems.map((problem) => renderProblem(problem, "command_line")).join("\n"));
  for (const { field, text } of warnings) warn(`${fieldName(field, "command_line")} ${text}`);
  return inputs;
}

function resultOf(before: Registration | undefined, inputs: WebhookInputs): Result {
  if (before === undefined) return "registered";
  return isSameUrl(before.webhookUrl, inputs.webhookUrl) ? "updated" : "replaced";
}

function printResult(
  { json }: SetOptions,
  done: { before: Registration | undefined; seen: Registration; inputs: WebhookInputs; result: Result },
): void {
  const { before, seen, inputs, result } = done;
  const ours = { ours: inputs.webhookVerificationKey };
  const replaced = result === "replaced" && before ? { replaced: hideQuery(before.webhookUrl) } : {};
  if (json) return printJson({ result, ...toShown(seen, ours), ...replaced });
  const from = replaced.replaced === undefined ? "" : `, in place of ${formatUrl(replaced.replaced)}`;
  print(`${result} at ${formatUrl(inputs.baseUrl)}${from}\n${formatRegistration(seen, ours)}`);
}

/**
 * After a first set-webhook: throws `conflict` if the bot is not the given one, after removing the registration again. It is kept
 * if it is unknown what was registered before.
 */
async function refuseOtherBotAfterSet(
  seen: Registration,
  access: Access,
  mayTakeBack: boolean,
): Promise<void> {
  const otherBot = await describeOtherBot(seen, access);
  if (otherBot === undefined) return;
  const outcome = mayTakeBack ? await takeBack(seen, access) : `${describe(seen)} is registered there now`;
  throw new ApiChatError(
    "conflict",
    `${formatUrl(access.baseUrl)} is another workspace: ${otherBot}. This shows only after set-webhook; ${outcome}`,
    { operation: "set-webhook", hints: [{ id: "name_workspace" }] },
  );
}

/** Removes what we have set, and nothing that somebody has set meanwhile. Describes what is registered now. */
async function takeBack(seen: Registration, { client, baseUrl }: Access): Promise<string> {
  const isOurs = (now: Registration | undefined): boolean =>
    now !== undefined && isSameUrl(now.webhookUrl, seen.webhookUrl) && isSameBot(now.botUrl, seen.botUrl);
  try {
    const now = await client.getWebhook();
    if (now !== undefined && !isOurs(now))
      return `somebody else has set ${describe(now)} meanwhile, which is registered there now`;
    if (now !== undefined) await removeRegistration(client, baseUrl, isOurs);
    return "what was set was removed again, and nothing is registered there now";
  } catch (error) {
    const reason = textOf(error);
    return `${describe(seen)} was set and could not be removed again (${reason}); apichat webhook delete removes it`;
  }
}

const describe = ({ webhookUrl }: Registration): string => formatUrl(webhookUrl);
