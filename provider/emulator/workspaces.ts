import { createHash } from "node:crypto";
import * as z from "zod";
import type { WebhookConfiguration } from "../../schema/registration.js";
import { withoutNulls } from "../lib/values.js";
import type { FaultRule, FaultView } from "./faults.js";
import type { Flow } from "./flows/flows.js";
import { FLOW_NAMES } from "./names.js";
import { invalidOption, parseOptions } from "./usage-errors.js";
import { workspaceOptions, type WorkspaceOptions } from "./options.js";
import {
  currentRegistration,
  nextRecord,
  type EmulatorState,
  type RegisteredWebhook,
  type WorkspaceState,
} from "./state.js";

const text = z.string().min(1);

const workspaceChange = workspaceOptions
  .pick({ apiKey: true, flowApiKey: true, mayManageFlow: true, botCode: true })
  .partial()
  .extend({
    /** A different flow; `custom` selects the last function that was the workspace's flow. */
    flow: z.union([workspaceOptions.shape.flow, z.literal("custom")], {
      error: `must be ${FLOW_NAMES.join(", ")}, custom or a function`,
    }),
    /** The start of `bot_url`, such as `http://127.0.0.2:8080`. Setting it moves the bot to a different host. */
    botBaseUrl: z
      .string()
      .refine((given) => URL.parse(given) !== null, { error: "must be an absolute URL" })
      .optional(),
    /** The workspace that answers calls with this one's address and API key. To undo that, set this one's name. */
    routeTo: text.optional(),
    /** A different registered address, without a handshake. */
    webhook_url: text.optional(),
    /** A different registered key, without a handshake. */
    webhook_verification_key: text.optional(),
    /** A different status, such as one that is not `verified`. */
    webhook_status: z.string().optional(),
  });

/** What to change in a workspace, without its client's involvement. */
export interface WorkspaceChange extends z.infer<typeof workspaceChange> {}

function deriveCode(purpose: string, name: string): string {
  return `f${createHash("sha256").update(`${purpose}:${name}`).digest("hex").slice(0, 23)}`;
}

/** Adds a workspace. Throws `invalid_config` if its name, bot code or address is already used. */
export function createWorkspace(state: EmulatorState, options: WorkspaceOptions): WorkspaceState {
  const { name, flow = state.settings.flow } = options;
  const workspace: WorkspaceState = {
    name,
    path: `/${options.path ?? name}/apichat`,
    query: options.baseUrlQuery ?? "",
    apiKey: options.apiKey,
    flowApiKey: options.flowApiKey ?? deriveCode("flow-api-key", name),
    mayManageFlow: options.mayManageFlow ?? true,
    flow,
    customFlow: typeof flow === "function" ? flow : undefined,
    botCode: options.botCode ?? deriveCode("bot", name),
    botBaseUrl: state.origins.bot,
    flowNs: deriveCode("flow", name),
    registration: null,
    everSet: false,
    verifiesAtMs: null,
    routeTo: null,
    handshakes: [],
    deliveries: [],
    conversations: new Map(),
    requestTimes: [],
  };
  if (state.directory.has(name)) throw invalidOption(`there is already a workspace named "${name}"`);
  assertPossible(state, workspace, workspace);
  state.directory.set(name, workspace);
  if (options.registration) takeOver(state, workspace, options.registration);
  else publishWorkspace(state, workspace);
  return workspace;
}

/**
 * Changes a workspace without its client's involvement. Throws `invalid_config`, and changes nothing, if any
 * field is wrong.
 */
export function changeWorkspace(
  state: EmulatorState,
  workspace: WorkspaceState,
  change: WorkspaceChange,
): void {
  const { webhook_url, webhook_verification_key, webhook_status, ...given } = parseOptions(
    "change",
    workspaceChange,
    change,
  );
  const flow = given.flow === "custom" ? requireCustomFlow(workspace) : given.flow;
  const own = { ...given, flow, customFlow: typeof flow === "function" ? flow : undefined };
  assertPossible(state, workspace, own);
  changeRegistration(workspace, withoutNulls({ webhook_url, webhook_verification_key, webhook_status }));
  Object.assign(workspace, withoutNulls(own));
  publishWorkspace(state, workspace);
}

/** Returns the workspace of this name. Throws `invalid_config` if there is none. */
export function findWorkspace({ directory }: EmulatorState, name: string): WorkspaceState {
  const workspace = directory.get(name);
  if (workspace) return workspace;
  throw invalidOption(`there is no workspace named "${name}"`);
}

/** See `Emulator.injectFault`. Throws `invalid_config` for an unknown workspace: the rule would never match. */
export function injectFault(state: EmulatorState, rule: FaultRule): FaultView {
  if (rule.workspace !== undefined) findWorkspace(state, rule.workspace);
  return state.faults.add(nextRecord(state, "fault").id, rule);
}

/** Removes a workspace and everything in it; its pending deliveries fail. */
export function removeWorkspace(state: EmulatorState, workspace: WorkspaceState): void {
  const { name } = workspace;
  state.directory.delete(name);
  for (const { queue } of workspace.conversations.values()) void queue.end();
  state.changes.publish({ type: "workspace-removed", name });
}

/** See `Emulator.reset`. Pending deliveries are dropped. */
export async function resetState(
  state: EmulatorState,
  { workspaces = false }: { workspaces?: boolean } = {},
): Promise<void> {
  const ended: Promise<void>[] = [];
  for (const workspace of state.directory.values()) {
    for (const { queue } of workspace.conversations.values()) ended.push(queue.end());
    // The lists are emptied in place, because callers have references to them.
    workspace.handshakes.length = 0;
    workspace.deliveries.length = 0;
    workspace.conversations.clear();
    if (workspaces) removeWorkspace(state, workspace);
  }
  state.requests.length = 0;
  state.faults.clear();
  state.changes.publish({ type: "reset" });
  await Promise.all(ended);
}

/** Publishes a changed workspace, unless it was removed while a call was in progress. */
export function publishWorkspace({ changes, directory }: EmulatorState, workspace: WorkspaceState): void {
  if (directory.get(workspace.name) === workspace) changes.publish({ type: "workspace", workspace });
}

/** See `Workspace.baseUrl`. */
export const baseUrlOf = ({ origins }: EmulatorState, { path, query }: WorkspaceState): string =>
  `${origins.registration}${path}${query === "" ? "" : `?${query}`}`;

export const botUrlOf = ({ botBaseUrl, botCode }: WorkspaceState): string =>
  `${botBaseUrl}/api/apichat/${botCode}`;

/** Returns the configuration (section 2.1) with the unmasked key; null if nothing is registered. */
export function readConfiguration(workspace: WorkspaceState): WebhookConfiguration | null {
  const registration = currentRegistration(workspace);
  return registration && { ...registration, bot_url: botUrlOf(workspace) };
}

/** Registers, like a successful set-webhook; with null, removes the registration, like delete-webhook. */
export function register(
  workspace: WorkspaceState,
  registration: RegisteredWebhook | null,
  verifiesAtMs: number | null = null,
): void {
  Object.assign(workspace, { registration, everSet: true, verifiesAtMs });
}

/**
 * Registers somebody else's endpoint as `verified`, without a handshake. With null, removes the registration,
 * as somebody else would.
 */
export function takeOver(
  state: EmulatorState,
  workspace: WorkspaceState,
  fields: Omit<RegisteredWebhook, "webhook_status"> | null,
): void {
  register(workspace, fields && { ...fields, webhook_status: "verified" });
  publishWorkspace(state, workspace);
}

/** Throws `invalid_config` if routeTo is unknown, or if another workspace has this bot code or address. */
function assertPossible(
  { directory }: EmulatorState,
  workspace: WorkspaceState,
  { botCode, apiKey, routeTo }: Pick<Partial<WorkspaceState>, "botCode" | "apiKey" | "routeTo">,
): void {
  const { name, path, query } = workspace;
  const others = [...directory.values()].filter((other) => other !== workspace);
  const sameBot = others.find((other) => other.botCode === botCode);
  if (sameBot) throw invalidOption(`bot code "${botCode}" belongs to workspace "${sameBot.name}"`);
  const atAddress = others.filter((other) => other.path === path && other.query === query);
  const sameKey = atAddress.find((other) => other.apiKey === apiKey);
  if (sameKey) {
    throw invalidOption(
      `the API key of workspace "${name}" already reaches workspace "${sameKey.name}" at ${path}; ` +
        "give one of them a different path, query or API key",
    );
  }
  if (typeof routeTo !== "string" || directory.has(routeTo)) return;
  throw invalidOption(`change: there is no workspace named "${routeTo}"`);
}

function requireCustomFlow({ name, customFlow }: WorkspaceState): Flow {
  if (customFlow !== undefined) return customFlow;
  throw invalidOption(`change: flow: workspace "${name}" never had a function to return to`);
}

function changeRegistration(workspace: WorkspaceState, fields: Partial<RegisteredWebhook>): void {
  if (Object.keys(fields).length === 0) return;
  const registration = currentRegistration(workspace);
  if (!registration) {
    throw invalidOption(`change: workspace "${workspace.name}" has nothing registered; use takeOver`);
  }
  const verifiesAtMs = fields.webhook_status === undefined ? workspace.verifiesAtMs : null;
  register(workspace, { ...registration, ...fields }, verifiesAtMs);
}
