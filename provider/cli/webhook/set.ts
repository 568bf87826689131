import type { Registration } from "../../client/index.js";
import { fieldName, renderProblem } from "../../errors/index.js";
import { hideQuery, printUrl, isSameUrl } from "../../lib/url.js";
import { checkWebhook } from "../../webhook/check.js";
import { observeBeforeSet, refuseForeign } from "../../webhook/observe.js";
import { registerIfNeeded } from "../../webhook/register.js";
import type { WebhookInputs } from "../../webhook/contract.js";
import { EXIT, print, printJson, warn } from "../output.js";
import type { Interruption } from "../run-command.js";
import { UsageError } from "../usage-error.js";
import {
  openWorkspace,
  refuseOtherBot,
  requireWebhookUrl,
  type Access,
  type WebhookOptions,
} from "./access.js";
import { refuseOtherBotAfterSet } from "./take-back.js";
import { formatRegistration, toShown } from "./registration-lines.js";

export interface SetOptions extends WebhookOptions {
  webhookUrl: string;
  replace?: boolean;
  preflight: "require" | "warn" | "off";
  /** In seconds. */
  readySeconds: number;
}

type Result = "registered" | "unchanged" | "updated" | "replaced";

/** Registers a webhook as the resource does, and prints what stands there now. Gives the exit code. */
export async function setWebhook(options: SetOptions, interruption: Interruption): Promise<number> {
  requireWebhookUrl(options.webhookUrl);
  const access = await openWorkspace(options, interruption);
  const { client } = access;
  const inputs = await readInputs(options, access);
  let isLooked = false;
  const look = async (): Promise<Registration | undefined> => {
    const seen = await client.getWebhook();
    isLooked = true;
    return seen;
  };
  const before = await observeBeforeSet({ getWebhook: look }, inputs);
  if (before !== undefined) {
    await refuseOtherBot(before, access, "set-webhook");
    refuseForeign(before, inputs);
  }
  const { registration: seen, wasSet } = await registerIfNeeded({
    inputs,
    client,
    seen: before,
    refusedRounds: REFUSED_ROUNDS,
  });
  // Where nothing stood nobody knew the bot before. After a look that failed --replace goes on all the same.
  const mayTakeBack = isLooked || inputs.onExisting === "fail";
  if (before === undefined) await refuseOtherBotAfterSet(seen, access, mayTakeBack);
  printResult(options, { before, seen, inputs, result: resultOf(before, { inputs, wasSet }) });
  return EXIT.done;
}

/** A wrong key is not waited out: nobody deploys the endpoint with this command. */
const REFUSED_ROUNDS = 3;

async function readInputs(options: SetOptions, { credentials, ...access }: Access): Promise<WebhookInputs> {
  const { webhookUrl, replace = false, preflight, readySeconds, requestSeconds } = options;
  const { inputs, problems, warnings } = checkWebhook({
    name: "webhook",
    baseUrl: access.baseUrl,
    apiKey: access.apiKey,
    webhookUrl,
    webhookVerificationKey: await credentials.secret("verificationKey"),
    onExisting: replace ? "replace" : "fail",
    preflight,
    timeouts: { readySeconds, requestSeconds },
  });
  if (problems.length > 0)
    throw new UsageError(problems.map((problem) => renderProblem(problem, "command_line")).join("\n"));
  for (const { field, text } of warnings) warn(`${fieldName(field, "command_line")} ${text}`);
  return inputs;
}

function resultOf(
  before: Registration | undefined,
  { inputs, wasSet }: { inputs: WebhookInputs; wasSet: boolean },
): Result {
  if (!wasSet) return "unchanged";
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
  const from = replaced.replaced === undefined ? "" : `, in place of ${printUrl(replaced.replaced)}`;
  print(`${result} at ${printUrl(inputs.baseUrl)}${from}\n${formatRegistration(seen, ours)}`);
}
