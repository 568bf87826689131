import { RegistrationClient, type Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors.js";
import { printUrl } from "../url.js";
import { showsNothing } from "../webhook/ensure.js";
import { isSameUrl } from "../webhook/fence.js";
import type { ListedWorkspace } from "../workspace-list/list.js";
import type { WebhookReport } from "./reports.js";
import type { RunContext } from "./run-context.js";
import type { RunOptions } from "./run-options.js";
import { RunStop } from "./run-stop.js";

/** What stands where a webhook would be created. */
type CreateState = "free" | "adopted" | "taken" | "unknown";

/**
 * `free`: nothing. `adopted`: our URL, so that `up` takes it as it is. `taken`: another URL, so that `up` fails there or takes
 * over, as the program says. `unknown`: the service did not say, or the API key is known to the program alone.
 */
export type CreateCounts = Record<CreateState, number>;

/** What was seen, and why not everything was looked at, if so. */
export interface Looked {
  creates: CreateCounts;
  stoppedBy?: string;
}

/** Looks at each workspace where a webhook would be created, and counts. Nobody's registration is named. */
export async function lookAtCreates(
  run: RunContext,
  webhooks: readonly WebhookReport[],
  options: RunOptions,
): Promise<Looked> {
  const stop = new RunStop(run.action, (why) => options.onEvent?.({ type: "stopping", why }));
  const letGo = stop.follow(run, options);
  const look = lookerOf(run, stop.signal);
  try {
    const states = await Promise.all(findCreates(webhooks).map(look));
    return { creates: countStates(states), ...(stop.why === undefined ? {} : { stoppedBy: stop.why }) };
  } finally {
    letGo();
  }
}

/** Where nobody looked. */
export const countUnseen = (webhooks: readonly WebhookReport[]): CreateCounts =>
  countStates(findCreates(webhooks).map(() => "unknown"));

const findCreates = (webhooks: readonly WebhookReport[]): WebhookReport[] =>
  webhooks.filter(({ change }) => change === "create");

function countStates(states: readonly CreateState[]): CreateCounts {
  const counts: CreateCounts = { free: 0, adopted: 0, taken: 0, unknown: 0 };
  for (const state of states) counts[state] += 1;
  return counts;
}

function lookerOf(run: RunContext, signal: AbortSignal): (webhook: WebhookReport) => Promise<CreateState> {
  const listed = new Map(run.fleet.workspaces.map((workspace) => [workspace.name, workspace]));
  return async (webhook) => {
    const workspace = listed.get(webhook.workspace);
    const apiKey = workspace?.apiKey ?? environmentKey(run);
    if (workspace === undefined || apiKey === undefined) return "unknown";
    return lookAt({ webhook, workspace, apiKey }, { gate: run.gate.gate, signal });
  };
}

/** An empty variable counts as none, as everywhere. */
const environmentKey = ({ environment }: RunContext): string | undefined =>
  (environment["APICHAT_API_KEY"] ?? process.env["APICHAT_API_KEY"]) || undefined;

async function lookAt(
  create: { webhook: WebhookReport; workspace: ListedWorkspace; apiKey: string },
  options: { gate: RunContext["gate"]["gate"]; signal: AbortSignal },
): Promise<CreateState> {
  const { workspace, apiKey } = create;
  try {
    const client = new RegistrationClient({ baseUrl: workspace.baseUrl, apiKey, ...options });
    const seen = await client.getWebhook();
    return seen === undefined ? "free" : judge(seen, create);
  } catch (error) {
    if (options.signal.aborted) return "unknown";
    if (!(error instanceof ApiChatError)) throw error;
    return showsNothing(error) ? "free" : "unknown";
  }
}

function judge(
  seen: Registration,
  { webhook, workspace }: { webhook: WebhookReport; workspace: ListedWorkspace },
): CreateState {
  const declared = webhook.webhookUrl ?? workspace.webhookUrl;
  if (declared === undefined) return "unknown";
  return isDeclared(seen.webhookUrl, declared, workspace.webhookUrl) ? "adopted" : "taken";
}

/** A report hides the values of a query: then the list's URL is compared, or else what both show. */
function isDeclared(seen: string, declared: string, listed: string | undefined): boolean {
  if (!declared.includes("?")) return isSameUrl(seen, declared);
  const isListed = listed !== undefined && printUrl(listed) === printUrl(declared);
  return isListed ? isSameUrl(seen, listed) : printUrl(seen) === printUrl(declared);
}
