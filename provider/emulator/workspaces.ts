import { createHash } from "node:crypto";
import * as z from "zod";
import type { WebhookConfiguration } from "../../schema/registration.js";
import { invalidOption, parseOptions } from "./errors.js";
import { flowNameOf } from "./flows/flows.js";
import { flowApiKey, pathSegment, type WorkspaceOptions } from "./options.js";
import { currentRegistration, type EmulatorState, type Registration, type WorkspaceState } from "./state.js";

const text = z.string().min(1);

/** What the control API changes; code also changes the registration. */
export const workspaceChange = z.strictObject({
  /** Another API key: the old one no longer works. */
  apiKey: text.optional(),
  /** Another API key of the flow (section 5). */
  flowApiKey: flowApiKey.optional(),
  /** Whether the flow API key has the permission "Gerenciar Fluxo" (section 5). */
  mayManageFlow: z.boolean().optional(),
  /** The name of what replies. */
  flow: text.optional(),
  /** Another bot: from now on `bot_url` ends in this code. */
  botCode: pathSegment.optional(),
  /** The same bot on another host: `bot_url` starts with this, such as `http://127.0.0.2:8080`. */
  botBaseUrl: z
    .string()
    .refine((given) => URL.parse(given) !== null, { error: "must be an absolute URL" })
    .optional(),
  /**
   * The name of the workspace that calls with this workspace's address and API key reach from now on; the workspace's
   * own name takes it back.
   */
  routeTo: text.optional(),
});

const anyChange = workspaceChange.extend({
  webhook_url: text.optional(),
  webhook_verification_key: text.optional(),
  webhook_status: z.string().optional(),
});

/** What can change without the client's doing. */
export interface WorkspaceChange extends z.infer<typeof anyChange> {}

/** A workspace without records. `flow` is the name of what replies, where the options name none or a function. */
export function newWorkspace(
  options: Omit<WorkspaceOptions, "registration">,
  { botBaseUrl, flow }: { botBaseUrl: string; flow: string },
): WorkspaceState {
  return {
    name: options.name,
    path: `/${options.path ?? options.name}/apichat`,
    query: options.baseUrlQuery ?? "",
    apiKey: options.apiKey,
    flowApiKey: options.flowApiKey ?? deriveCode("flow-api-key", options.name),
    mayManageFlow: options.mayManageFlow ?? true,
    flow,
    botCode: options.botCode ?? deriveCode("bot", options.name),
    botBaseUrl,
    flowNs: deriveCode("flow", options.name),
    registration: null,
    everSet: false,
    verifiesAtMs: null,
    routeTo: null,
    handshakes: [],
    deliveries: [],
    conversations: new Map(),
    requestTimes: [],
    lastCall: Promise.resolve(),
  };
}

function deriveCode(purpose: string, name: string): string {
  return `f${createHash("sha256").update(`${purpose}:${name}`).digest("hex").slice(0, 23)}`;
}

/** Adds a workspace. Throws `invalid_config` if its flow is unknown, or its name, bot code or address is taken. */
export function createWorkspace(state: EmulatorState, options: WorkspaceOptions): WorkspaceState {
  const flow = flowNameOf(state.flows, options.flow, { for: options.name, otherwise: state.settings.flow });
  const workspace = newWorkspace(options, { botBaseUrl: state.origins.bot, flow });
  if (state.directory.has(workspace.name)) {
    throw invalidOption(`there is already a workspace named "${workspace.name}"`);
  }
  assertIsPossible(state, workspace, workspace);
  state.directory.set(workspace.name, workspace);
  if (options.registration) register(workspace, { ...options.registration, webhook_status: "verified" });
  publishWorkspace(state, workspace);
  return workspace;
}

/**
 * Changes a workspace behind its client's back: all of it or, if anything is wrong, nothing. Throws `invalid_config` naming
 * what cannot be.
 */
export function changeWorkspace(
  state: EmulatorState,
  workspace: WorkspaceState,
  change: WorkspaceChange,
): void {
  const { webhook_url, webhook_verification_key, webhook_status, ...own } = parseOptions(
    "change",
    anyChange,
    change,
  );
  assertIsPossible(state, workspace, own);
  changeRegistration(workspace, dropUndefined({ webhook_url, webhook_verification_key, webhook_status }));
  Object.assign(workspace, dropUndefined(own));
  publishWorkspace(state, workspace);
}

/** Removes a workspace and everything in it; its pending deliveries fail. Throws `invalid_config` if there is none. */
export function removeWorkspace(state: EmulatorState, name: string): void {
  const workspace = state.directory.get(name);
  if (!workspace) throw invalidOption(`there is no workspace named "${name}"`);
  state.directory.delete(name);
  for (const { queue } of workspace.conversations.values()) void queue.end();
  for (const delivery of workspace.deliveries.filter(({ verdict }) => verdict === "pending")) {
    Object.assign(delivery, { verdict: "failed", reason: "the workspace was removed" });
    state.changes.publish({ kind: "delivery", delivery });
  }
  state.changes.publish({ kind: "workspace-removed", name });
}

/**
 * Forgets what has happened: conversations, deliveries, handshakes, requests and faults. Workspaces stay as they are, with
 * their keys and registrations, unless they are to go too. What is still to be delivered never is; resolves when nothing of
 * it is in progress any more.
 */
export async function resetState(
  state: EmulatorState,
  { workspaces = false }: { workspaces?: boolean } = {},
): Promise<void> {
  const queues = [...state.directory.values()].flatMap((workspace) =>
    Array.from(workspace.conversations.values(), (conversation) => conversation.queue),
  );
  for (const workspace of state.directory.values()) {
    // In place: the lists are handed out.
    workspace.handshakes.length = 0;
    workspace.deliveries.length = 0;
    workspace.conversations.clear();
    if (workspaces) removeWorkspace(state, workspace.name);
  }
  state.requests.length = 0;
  state.faults.clear();
  state.changes.publish({ kind: "reset" });
  await Promise.all(queues.map((each) => each.end()));
}

/** Reports that a workspace has changed. One that was removed while a call was in progress stays removed. */
export function publishWorkspace({ changes, directory }: EmulatorState, workspace: WorkspaceState): void {
  if (directory.get(workspace.name) === workspace) changes.publish({ kind: "workspace", workspace });
}

/** The address of a workspace's registration interface (section 4.1), with its own query if it has one. */
export function baseUrlOf({ origins }: EmulatorState, { path, query }: WorkspaceState): string {
  return `${origins.registration}${path}${query === "" ? "" : `?${query}`}`;
}

export function botUrlOf(workspace: WorkspaceState): string {
  return `${workspace.botBaseUrl}/api/apichat/${workspace.botCode}`;
}

/** The whole configuration as it is held (section 2.1), the key in clear; null if nothing is registered. */
export function readConfiguration(workspace: WorkspaceState): WebhookConfiguration | null {
  const registration = currentRegistration(workspace);
  return registration && { ...registration, bot_url: botUrlOf(workspace) };
}

/** Registers, as if by a good set-webhook. */
export function register(
  workspace: WorkspaceState,
  registration: Registration,
  verifiesAtMs: number | null = null,
): void {
  Object.assign(workspace, { registration, everSet: true, verifiesAtMs });
}

/** Removes the registration: from now on the four fields are empty, as after delete-webhook. */
export function unregister(workspace: WorkspaceState): void {
  Object.assign(workspace, { registration: null, everSet: true, verifiesAtMs: null });
}

/** Throws if a workspace cannot have these: an unknown flow or routeTo, another's bot code or address. */
function assertIsPossible(
  { flows, directory }: EmulatorState,
  workspace: WorkspaceState,
  { flow, botCode, apiKey, routeTo }: Partial<WorkspaceState>,
): void {
  const { name, path, query } = workspace;
  const others = [...directory.values()].filter((other) => other !== workspace);
  if (flow !== undefined && !flows.has(flow)) {
    throw invalidOption(`flow: there is none named "${flow}"; there are ${[...flows.keys()].join(", ")}`);
  }
  // A message would have two bots to go to.
  const sameBot = others.find((other) => other.botCode === botCode);
  if (sameBot) throw invalidOption(`bot code "${botCode}" belongs to workspace "${sameBot.name}"`);
  const atAddress = others.filter((other) => other.path === path && other.query === query);
  const sameKey = atAddress.find((other) => other.apiKey === apiKey);
  if (sameKey) {
    throw invalidOption(
      `the API key of workspace "${name}" already reaches workspace "${sameKey.name}" at ${path}; ` +
        "give one of them another path, query or API key",
    );
  }
  if (typeof routeTo !== "string" || directory.has(routeTo)) return;
  throw invalidOption(`change: there is no workspace named "${routeTo}"`);
}

function changeRegistration(workspace: WorkspaceState, fields: Partial<Registration>): void {
  if (Object.keys(fields).length === 0) return;
  const registration = currentRegistration(workspace);
  if (!registration) {
    throw invalidOption(`change: workspace "${workspace.name}" has nothing registered; use takeOver`);
  }
  const verifiesAtMs = fields.webhook_status === undefined ? workspace.verifiesAtMs : null;
  register(workspace, { ...registration, ...fields }, verifiesAtMs);
}

function dropUndefined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
