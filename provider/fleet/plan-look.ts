import { RegistrationClient, type Registration } from "../client/registration-client.js";
import { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";
import { printUrl, isSameUrl } from "../lib/url.js";
import { observeFirst } from "../webhook/observe.js";
import { toFailure } from "./failure-texts.js";
import type { ListedWorkspace } from "../workspace-list/entry-shape.js";
import type { Failure, WebhookReport } from "./reports.js";
import type { RunContext } from "./run-context.js";

/** What stands where a webhook would be created. */
export type CreateState = "free" | "adopted" | "taken" | "unknown";

/** Why it is not known what stands there. No URL and no name is in it. */
export interface UnknownCause {
  reason: string;
  /** Of the failure to look; left out where nobody looked. */
  code?: ApiChatErrorCode;
}

/** A webhook that would be created, and its stack. */
export interface Create {
  stack: string;
  webhook: WebhookReport;
}

/** What one look told. `failure`: the `up` would fail for the same reason. */
export type Look =
  { state: Exclude<CreateState, "unknown"> } | { state: "unknown"; cause: UnknownCause; failure?: Failure };

export const NOT_LOOKED_AT: Look = {
  state: "unknown",
  cause: { reason: "not looked at: the plan was stopped" },
};

const NO_KEY: Look = {
  state: "unknown",
  cause: { reason: "no API key in the list or the environment: the program alone has it" },
};

const NO_URL: Look = { state: "unknown", cause: { reason: "the webhook URL is not known before up" } };

/** Asks the service what is registered at a workspace. */
export function lookerOf(run: RunContext, signal: AbortSignal): (create: Create) => Promise<Look> {
  const listed = new Map(run.fleet.workspaces.map((workspace) => [workspace.name, workspace]));
  return async (create) => {
    const workspace = listed.get(create.webhook.workspace);
    const apiKey = workspace?.apiKey ?? environmentKey(run);
    if (workspace === undefined || apiKey === undefined) return NO_KEY;
    return lookAt({ ...create, workspace, apiKey }, { gate: run.gate.gate, signal });
  };
}

/** An empty variable counts as none, as everywhere. */
const environmentKey = ({ environment }: RunContext): string | undefined =>
  (environment["APICHAT_API_KEY"] ?? process.env["APICHAT_API_KEY"]) || undefined;

async function lookAt(
  create: Create & { workspace: ListedWorkspace; apiKey: string },
  options: { gate: RunContext["gate"]["gate"]; signal: AbortSignal },
): Promise<Look> {
  const { workspace, apiKey } = create;
  try {
    const client = new RegistrationClient({ baseUrl: workspace.baseUrl, apiKey, ...options });
    const seen = await observeFirst(client);
    return seen === undefined ? { state: "free" } : judge(seen, create);
  } catch (error) {
    if (options.signal.aborted) return NOT_LOOKED_AT;
    if (!(error instanceof ApiChatError)) throw error;
    return explain(error, create);
  }
}

/** A key that is refused now is refused by the `up` too; anything else may have passed by then. */
function explain(error: ApiChatError, { stack, webhook }: Create): Look {
  const { code, httpStatus } = error;
  const cause = { reason: httpStatus === undefined ? code : `${code} (HTTP ${httpStatus})`, code };
  if (code !== "unauthorized") return { state: "unknown", cause };
  return {
    state: "unknown",
    cause,
    failure: toFailure(error.toJSON(), { workspace: webhook.workspace, stack }),
  };
}

function judge(
  seen: Registration,
  { webhook, workspace }: { webhook: WebhookReport; workspace: ListedWorkspace },
): Look {
  const declared = webhook.webhookUrl ?? workspace.webhookUrl;
  if (declared === undefined) return NO_URL;
  return { state: isDeclared(seen.webhookUrl, declared, workspace.webhookUrl) ? "adopted" : "taken" };
}

/** A report hides the values of a query: then the list's URL is compared, or else what both show. */
function isDeclared(seen: string, declared: string, listed: string | undefined): boolean {
  if (!declared.includes("?")) return isSameUrl(seen, declared);
  const isListed = listed !== undefined && printUrl(listed) === printUrl(declared);
  return isListed ? isSameUrl(seen, listed) : printUrl(seen) === printUrl(declared);
}
