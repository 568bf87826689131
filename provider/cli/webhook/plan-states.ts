import { ApiChatError, type Registration } from "../../client/index.js";
import { printUrl, botCodeOf, canonicalUrl, isSameBot, isSameUrl } from "../../lib/url.js";
import type { PlannedWorkspace } from "../../workspace-list/list.js";
import { renderFailure } from "../../errors/index.js";

/** What an `up` would meet in a workspace. The first two are well. */
type PlanState =
  "free" | "yours" | "foreign" | "other-bot" | "same-bot" | "unauthorized" | "unreachable" | "unclear";

/** A workspace and what was seen of it. No secret is in it. */
export interface PlanRow {
  name: string;
  baseUrl: string;
  state: PlanState;
  /** What stands there, or why nothing is known; empty where there is nothing to say. */
  detail: string;
}

/** A row with what tells two of the same workspace apart. */
export interface AskedWorkspace extends PlanRow {
  /** The bot code, or base URL and API key where nothing is registered. */
  identity: string;
}

/** The row of a workspace that answered. */
export function rowOfAnswer(
  workspace: PlannedWorkspace & { apiKey: string },
  seen: Registration | undefined,
): AskedWorkspace {
  const base = baseOf(workspace);
  if (seen === undefined) return { ...base, state: "free", detail: "" };
  const row = { ...base, identity: identityOfBot(seen) ?? base.identity };
  if (workspace.botUrl !== undefined && !isSameBot(seen.botUrl, workspace.botUrl)) {
    const bots = `bot ${botCodeOf(seen.botUrl)}, not ${botCodeOf(workspace.botUrl)}`;
    return { ...row, state: "other-bot", detail: `${bots}: ${printUrl(seen.webhookUrl)}` };
  }
  const isYours = isSameUrl(seen.webhookUrl, workspace.webhookUrl);
  return isYours
    ? { ...row, state: "yours", detail: seen.status }
    : { ...row, state: "foreign", detail: printUrl(seen.webhookUrl) };
}

/** The row of a workspace that could not be looked at. Throws what is no deliberate failure. */
export function rowOfFailure(
  workspace: PlannedWorkspace & { apiKey: string },
  error: unknown,
): AskedWorkspace {
  if (!(error instanceof ApiChatError)) throw error;
  const base = baseOf(workspace);
  return { ...base, state: stateOf(error), detail: renderFailure(error, "list") };
}

function stateOf({ code }: ApiChatError): PlanState {
  if (code === "unauthorized") return "unauthorized";
  return code === "unavailable" || code === "timeout" ? "unreachable" : "unclear";
}

function baseOf({ name, baseUrl, apiKey }: PlannedWorkspace & { apiKey: string }) {
  return { name, baseUrl: printUrl(baseUrl), identity: JSON.stringify([canonicalUrl(baseUrl), apiKey]) };
}

const identityOfBot = ({ botUrl }: Registration): string | undefined =>
  botUrl === "" ? undefined : botCodeOf(botUrl);

/** Tells of the workspaces that are the same one: a workspace has one webhook. */
export function tellSameBots(asked: readonly AskedWorkspace[]): PlanRow[] {
  return asked.map(({ identity, ...row }) => {
    const others = asked.filter((other) => other.identity === identity && other.name !== row.name);
    if (others.length === 0 || !isWell(row)) return row;
    const names = others.map(({ name }) => name).join(", ");
    return { ...row, state: "same-bot", detail: `reaches the same workspace as ${names}` };
  });
}

/** Whether an `up` would go through. */
export const isWell = ({ state }: PlanRow): boolean => state === "free" || state === "yours";
