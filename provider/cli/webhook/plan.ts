import { type Registration, RegistrationClient } from "../../client/index.js";
import { ApiChatError, commandLine, renderFailure } from "../../errors/index.js";
import { botCodeOf, canonicalUrl, formatUrl, isSameBot, isSameUrl } from "../../lib/url.js";
import { mayMeanNeverSet } from "../../registration/index.js";
import { type PlannedWorkspace, readPlannedWorkspaces } from "../../workspace-list/index.js";
import { EXIT, note, printResult } from "../output.js";
import { type CommandRun, noteIfSlow } from "../run-command.js";
import { formatTable } from "../table.js";
import type { WebhookOptions } from "./workspace.js";

export interface PlanOptions extends WebhookOptions {
  file: string;
}

/** Queries once what is registered in each workspace of a list, and prints it. Writes nothing. Returns the exit code. */
export async function planWebhooks(
  options: PlanOptions,
  { credentials, signal }: CommandRun,
): Promise<number> {
  const listed = await readPlannedWorkspaces(options.file);
  // Prompted for only if a workspace has no API key of its own.
  const isNeeded = listed.some(({ apiKey }) => apiKey === undefined);
  const common = isNeeded ? await credentials.secret("apiKey") : "";
  const { requestSeconds, apiKeyAs } = options;
  let answered = 0;
  const query = async ({ apiKey = common, ...workspace }: PlannedWorkspace): Promise<Row> => {
    const { name, baseUrl } = workspace;
    const client = new RegistrationClient({ baseUrl, apiKey, apiKeyAs, requestSeconds, signal });
    const identity = JSON.stringify([canonicalUrl(baseUrl), apiKey]);
    const found = await client.getWebhook().then((seen) => judge(workspace, seen), judgeFailure);
    answered += 1;
    return { identity, name, baseUrl: formatUrl(baseUrl), ...found };
  };
  const rows = await noteIfSlow(
    () => `waiting for ${listed.length} workspaces, ${answered} have answered`,
    async () => markSame(await Promise.all(listed.map(query))),
  );
  const unready = rows.filter((row) => !isReady(row)).length;
  const cells = rows.map(({ name, state, detail }) => [name, state, detail]);
  printResult(options, { ok: unready === 0, workspaces: rows }, () =>
    formatTable(["WORKSPACE", "STATE", "DETAIL"], cells, { colours: COLOURS }),
  );
  if (unready > 0 && !options.json)
    note(`${unready} of ${rows.length} are neither free nor yours; see ${commandLine()} webhook plan --help`);
  return unready === 0 ? EXIT.done : EXIT.failed;
}

/** What `up` would find in a workspace. The first two are fine. */
type PlanState =
  "free" | "yours" | "foreign" | "other-bot" | "same-bot" | "unauthorized" | "unreachable" | "unclear";

const COLOURS: Record<PlanState, "green" | "yellow" | "red"> = {
  free: "green",
  yours: "green",
  foreign: "red",
  "other-bot": "red",
  "same-bot": "red",
  unauthorized: "red",
  unreachable: "yellow",
  unclear: "yellow",
};

/** What is registered in a workspace. Contains no secrets. */
interface Found {
  state: PlanState;
  /** What is registered, or why that is not known; empty if there is nothing to say. */
  detail: string;
}

interface Row extends Found {
  name: string;
  baseUrl: string;
  /** The same for two entries of one workspace: the bot code, or base URL and API key if nothing is registered. */
  identity: string;
}

function judge(
  { botUrl, webhookUrl }: PlannedWorkspace,
  seen: Registration | undefined,
): Found & { identity?: string } {
  if (seen === undefined) return { state: "free", detail: "" };
  const bot = botCodeOf(seen.botUrl);
  const identity = seen.botUrl === "" ? {} : { identity: bot };
  if (botUrl !== undefined && !isSameBot(seen.botUrl, botUrl)) {
    const detail = `bot ${bot}, not ${botCodeOf(botUrl)}: ${formatUrl(seen.webhookUrl)}`;
    return { ...identity, state: "other-bot", detail };
  }
  return isSameUrl(seen.webhookUrl, webhookUrl)
    ? { ...identity, state: "yours", detail: seen.status }
    : { ...identity, state: "foreign", detail: formatUrl(seen.webhookUrl) };
}

function judgeFailure(error: unknown): Found {
  if (!(error instanceof ApiChatError)) throw error;
  if (mayMeanNeverSet(error))
    return { state: "free", detail: "HTTP 404: no webhook yet, or a wrong base URL" };
  const { code } = error;
  const isUnreachable = code === "unavailable" || code === "timeout";
  const state = code === "unauthorized" ? code : isUnreachable ? "unreachable" : "unclear";
  return { state, detail: renderFailure(error, "list") };
}

/** Marks the entries that reach the same workspace, because a workspace has one webhook. */
const markSame = (rows: readonly Row[]): Omit<Row, "identity">[] =>
  rows.map(({ identity, ...row }) => {
    const others = rows.filter((other) => other.identity === identity && other.name !== row.name);
    if (others.length === 0 || !isReady(row)) return row;
    const names = others.map(({ name }) => name).join(", ");
    return { ...row, state: "same-bot", detail: `reaches the same workspace as ${names}` };
  });

/** Whether an `up` would succeed. */
const isReady = ({ state }: Found): boolean => state === "free" || state === "yours";
