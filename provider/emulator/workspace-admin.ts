import * as z from "zod";
import { invalidOption, parseOptions, pathSegment } from "./check-options.js";
import type { EmulatorState } from "./emulator-state.js";
import { flowNameOf } from "./flows/flows.js";
import { flowApiKey, type WorkspaceOptions } from "./options.js";
import { readConfiguration } from "./registration.js";
import { assertAddressIsFree, assertBotCodeIsFree, enrol } from "./workspace-directory.js";
import { createWorkspaceState, register, type Registration, type WorkspaceState } from "./workspace-state.js";

/** What can change without the client's doing. */
export interface WorkspaceChange extends Partial<Registration> {
  /** Another API key: the old one no longer works. */
  apiKey?: string;
  /** Another API key of the flow (section 5). */
  flowApiKey?: string;
  /** Whether the flow API key has the permission "Gerenciar Fluxo" (section 5). */
  mayManageFlow?: boolean;
  /** The name of what replies. */
  flow?: string;
  /** Another bot: from now on `bot_url` ends in this code. */
  botCode?: string;
  /** The same bot on another host: `bot_url` starts with this, such as `http://127.0.0.2:8080`. */
  botBaseUrl?: string;
  /**
   * The name of the workspace that calls with this workspace's address and API key reach from now on; the workspace's
   * own name takes it back.
   */
  owner?: string;
}

const workspaceChange = z.strictObject({
  webhook_url: z.string().min(1).optional(),
  webhook_verification_key: z.string().min(1).optional(),
  webhook_status: z.string().optional(),
  apiKey: z.string().min(1).optional(),
  flowApiKey: flowApiKey.optional(),
  mayManageFlow: z.boolean().optional(),
  flow: z.string().optional(),
  botCode: pathSegment.optional(),
  botBaseUrl: z.url().optional(),
  owner: z.string().optional(),
});

/** Adds a workspace. Throws `invalid_config` if its flow is unknown, or its name, bot code or address is taken. */
export function createWorkspace(state: EmulatorState, options: WorkspaceOptions): WorkspaceState {
  const flow = flowNameOf(state.flows, options.flow, { for: options.name, otherwise: state.settings.flow });
  assertFlowExists(state, flow);
  const workspace = createWorkspaceState(options, { botBaseUrl: state.origins.bot, flow });
  enrol(state.directory, workspace);
  if (options.registration) register(workspace, { ...options.registration, webhook_status: "verified" });
  tellOf(state, workspace);
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
    workspaceChange,
    change,
  );
  assertChangeIsPossible(state, workspace, own);
  changeRegistration(workspace, dropUndefined({ webhook_url, webhook_verification_key, webhook_status }));
  Object.assign(workspace, dropUndefined(own));
  tellOf(state, workspace);
}

/** Removes a workspace with all that it holds. What is still to be delivered never is. Throws `invalid_config` if there is none. */
export function removeWorkspace(state: EmulatorState, name: string): void {
  const workspace = state.directory.get(name);
  if (!workspace) throw invalidOption(`there is no workspace named "${name}"`);
  state.directory.delete(name);
  for (const { turns } of workspace.conversations.values()) void turns.end();
  for (const delivery of workspace.deliveries.filter(({ verdict }) => verdict === "pending")) {
    Object.assign(delivery, { verdict: "failed", reason: "the workspace was removed" });
    state.changes.publish({ kind: "delivery", delivery });
  }
  state.changes.publish({ kind: "workspace-removed", name });
}

/** Tells that a workspace has changed. One that was removed while a call was under way stays removed. */
export function tellOf({ changes, directory }: EmulatorState, workspace: WorkspaceState): void {
  if (directory.get(workspace.name) === workspace) changes.publish({ kind: "workspace", workspace });
}

function assertFlowExists({ flows }: EmulatorState, flow: string): void {
  if (flows.has(flow)) return;
  throw invalidOption(`flow: there is none named "${flow}"; there are ${[...flows.keys()].join(", ")}`);
}

function assertChangeIsPossible(
  state: EmulatorState,
  workspace: WorkspaceState,
  change: WorkspaceChange,
): void {
  const { flow, botCode, apiKey, owner } = change;
  if (flow !== undefined) assertFlowExists(state, flow);
  if (botCode !== undefined) assertBotCodeIsFree(state.directory, workspace, botCode);
  if (apiKey !== undefined) assertAddressIsFree(state.directory, workspace, apiKey);
  if (owner === undefined || state.directory.has(owner)) return;
  throw invalidOption(`change: there is no workspace named "${owner}"`);
}

function changeRegistration(workspace: WorkspaceState, fields: Partial<Registration>): void {
  if (Object.keys(fields).length === 0) return;
  const registration = readRegistrationToChange(workspace);
  const verifiesAtMs = fields.webhook_status === undefined ? workspace.verifiesAtMs : undefined;
  register(workspace, { ...registration, ...fields }, verifiesAtMs);
}

function readRegistrationToChange(workspace: WorkspaceState): Registration {
  const configuration = readConfiguration(workspace);
  if (!configuration)
    throw invalidOption(`change: workspace "${workspace.name}" has nothing registered; use takeOver`);
  const { bot_url: _bot, ...registration } = configuration;
  return registration;
}

function dropUndefined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
