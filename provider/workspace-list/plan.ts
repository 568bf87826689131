import { type Registration, RegistrationClient, type RegistrationClientOptions } from "../client/internal.js";
import { ApiChatError, renderFailure } from "../errors/index.js";
import { botCodeOf, canonicalUrl, formatUrl, isSameUrl } from "../lib/url.js";
import { mayMeanNeverSet } from "../registration/index.js";
import type { PlannedWorkspace } from "./list-shape.js";

/** What `up` would find in a workspace. It would succeed only if that is "free" or "yours". */
export type PlanState =
  "free" | "yours" | "foreign" | "same-bot" | "unauthorized" | "unreachable" | "unclear";

/** One workspace of a plan. Contains no secrets. */
interface PlannedRow {
  name: string;
  baseUrl: string;
  state: PlanState;
  /** In a few words: what is registered, or why `up` would fail. Empty if nothing is registered. */
  detail: string;
  /** If the query failed: the full reason, and what to do. */
  reason?: string;
}

/** Entries for the same workspace share an identity: the bot code, or the base URL and key if nothing is registered. */
type Row = PlannedRow & { identity: string };

type Found = Pick<PlannedRow, "state" | "detail" | "reason"> & { identity?: string };

/**
 * Queries each workspace of a list once for its registration; writes nothing. `apiKey` is for entries without
 * their own key. `onAnswer` is called after each query, whether it succeeded or not.
 */
export async function planWebhooks(
  listed: readonly PlannedWorkspace[],
  { onAnswer, ...options }: Omit<RegistrationClientOptions, "baseUrl"> & { onAnswer: () => void },
): Promise<PlannedRow[]> {
  const query = async ({ apiKey = options.apiKey, ...workspace }: PlannedWorkspace): Promise<Row> => {
    const { name, baseUrl } = workspace;
    const client = new RegistrationClient({ ...options, baseUrl, apiKey });
    const identity = JSON.stringify([canonicalUrl(baseUrl), apiKey]);
    const found = await client.getWebhook().then((seen) => judge(workspace, seen), judgeFailure);
    onAnswer();
    return { identity, name, baseUrl: formatUrl(baseUrl), ...found };
  };
  return markSame(await Promise.all(listed.map(query)));
}

function judge({ webhookUrl }: PlannedWorkspace, seen: Registration | undefined): Found {
  if (seen === undefined) return { state: "free", detail: "" };
  const identity = seen.botUrl === "" ? {} : { identity: botCodeOf(seen.botUrl) };
  return isSameUrl(seen.webhookUrl, webhookUrl)
    ? { ...identity, state: "yours", detail: seen.status }
    : { ...identity, state: "foreign", detail: formatUrl(seen.webhookUrl) };
}

function judgeFailure(error: unknown): Found {
  if (!(error instanceof ApiChatError)) throw error;
  if (mayMeanNeverSet(error))
    return { state: "free", detail: "HTTP 404: no webhook yet, or a wrong base URL" };
  const { code, httpStatus, facts } = error;
  const isUnreachable = code === "unavailable" || code === "timeout";
  const state = code === "unauthorized" ? code : isUnreachable ? "unreachable" : "unclear";
  const detail = httpStatus === undefined ? (facts.connection ?? code) : `HTTP ${httpStatus}`;
  return { state, detail, reason: renderFailure(error, "list") };
}

/** Marks the entries that reach the same workspace, because a workspace has one webhook. */
const markSame = (rows: readonly Row[]): PlannedRow[] =>
  rows.map(({ identity, ...row }) => {
    const others = rows.filter((other) => other.identity === identity && other.name !== row.name);
    if (others.length === 0 || !isReady(row)) return row;
    const names = others.map(({ name }) => name).join(", ");
    return { ...row, state: "same-bot", detail: `reaches the same workspace as ${names}` };
  });

/** Whether an `up` would succeed. */
export const isReady = ({ state }: Pick<PlannedRow, "state">): boolean =>
  state === "free" || state === "yours";
