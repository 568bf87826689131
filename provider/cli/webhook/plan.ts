import { ApiChatError, type Registration, RegistrationClient } from "../../client/index.js";
import type { PlannedWorkspace } from "../../workspace-list/entry-shape.js";
import { readPlannedWorkspaces } from "../../workspace-list/read.js";
import { getWebhookIfAny } from "../../webhook/lifecycle.js";
import { openCredentials } from "../credentials.js";
import { EXIT, note, print, printJson } from "../output.js";
import { type Interruption, noteIfSlow } from "../run-command.js";
import { formatTable } from "../table.js";
import type { ApiKeyAs } from "../../client/options.js";
import type { CredentialOptions } from "../credential-options.js";
import { botCodeOf, canonicalUrl, isSameBot, isSameUrl, formatUrl } from "../../lib/url.js";
import { renderFailure } from "../../errors/index.js";

export interface PlanOptions extends CredentialOptions {
  file: string;
  json?: boolean;
  apiKeyAs: ApiKeyAs;
  /** In seconds. */
  requestSeconds: number;
}

/** Asks each workspace of a list once what is registered, and prints it. Nothing is written. Gives the exit code. */
export async function planWebhooks(options: PlanOptions, interruption: Interruption): Promise<number> {
  const workspaces = await withApiKeys(await readPlannedWorkspaces(options.file), options, interruption);
  const rows = await askAll(workspaces, options, interruption);
  if (options.json) printJson({ ok: rows.every(isReady), workspaces: rows });
  else printRows(rows);
  return rows.every(isReady) ? EXIT.done : EXIT.failed;
}

type Keyed = PlannedWorkspace & { apiKey: string };

/** Asks for the command's API key only if a workspace has none of its own. */
async function withApiKeys(
  workspaces: readonly PlannedWorkspace[],
  options: PlanOptions,
  { interrupt }: Interruption,
): Promise<Keyed[]> {
  const isNeeded = workspaces.some(({ apiKey }) => apiKey === undefined);
  const common = isNeeded ? await openCredentials(options, interrupt).secret("apiKey") : "";
  return workspaces.map((workspace) => ({ ...workspace, apiKey: workspace.apiKey ?? common }));
}

/** The client itself has at most eight calls to one origin in progress. */
async function askAll(
  workspaces: readonly Keyed[],
  { requestSeconds, apiKeyAs }: PlanOptions,
  { signal }: Interruption,
): Promise<PlanRow[]> {
  let answered = 0;
  const ask = async (workspace: Keyed) => {
    const { baseUrl, apiKey } = workspace;
    const client = new RegistrationClient({ baseUrl, apiKey, apiKeyAs, requestSeconds, signal });
    const row = await getWebhookIfAny(client).then(
      (seen) => rowOfAnswer(workspace, seen),
      (error: unknown) => rowOfFailure(workspace, error),
    );
    answered += 1;
    return row;
  };
  return noteIfSlow(
    () => `waiting for ${workspaces.length} workspaces, ${answered} have answered`,
    async () => markSameBots(await Promise.all(workspaces.map(ask))),
  );
}

function printRows(rows: readonly PlanRow[]): void {
  const cells = rows.map(({ name, state, detail }) => [name, state, detail]);
  print(formatTable(["WORKSPACE", "STATE", "DETAIL"], cells));
  const troubled = rows.filter((row) => !isReady(row)).length;
  if (troubled > 0)
    note(`${troubled} of ${rows.length} are neither free nor yours; see apichat webhook plan --help`);
}

/** What `up` would find in a workspace. The first two are fine. */
type PlanState =
  "free" | "yours" | "foreign" | "other-bot" | "same-bot" | "unauthorized" | "unreachable" | "unclear";

/** A workspace and what was seen of it. No secret is in it. */
export interface PlanRow {
  name: string;
  baseUrl: string;
  state: PlanState;
  /** What is registered, or why nothing is known; empty where there is nothing to say. */
  detail: string;
}

/** A row with what two of the same workspace share. */
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
    return { ...row, state: "other-bot", detail: `${bots}: ${formatUrl(seen.webhookUrl)}` };
  }
  const isYours = isSameUrl(seen.webhookUrl, workspace.webhookUrl);
  return isYours
    ? { ...row, state: "yours", detail: seen.status }
    : { ...row, state: "foreign", detail: formatUrl(seen.webhookUrl) };
}

/** The row of a workspace that could not be read. Throws what is no deliberate failure. */
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
  return { name, baseUrl: formatUrl(baseUrl), identity: JSON.stringify([canonicalUrl(baseUrl), apiKey]) };
}

const identityOfBot = ({ botUrl }: Registration): string | undefined =>
  botUrl === "" ? undefined : botCodeOf(botUrl);

/** Marks the workspaces that are the same one: a workspace has one webhook. */
export function markSameBots(asked: readonly AskedWorkspace[]): PlanRow[] {
  return asked.map(({ identity, ...row }) => {
    const others = asked.filter((other) => other.identity === identity && other.name !== row.name);
    if (others.length === 0 || !isReady(row)) return row;
    const names = others.map(({ name }) => name).join(", ");
    return { ...row, state: "same-bot", detail: `reaches the same workspace as ${names}` };
  });
}

/** Whether an `up` would go through. */
export const isReady = ({ state }: PlanRow): boolean => state === "free" || state === "yours";
