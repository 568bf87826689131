import { ChangeHub } from "./changes.js";
import { invalidOption } from "./check-options.js";
import { subscribeTo } from "./control/events.js";
import { assertTokenIfReachable } from "./control/loopback.js";
import type { EmulatorEvent } from "./control/shapes.js";
import { resumeDeliveries } from "./deliveries/delivery.js";
import type { EmulatorState } from "./emulator-state.js";
import { addFault, type FaultRule } from "./faults.js";
import { createFlows, flowNameOf } from "./flows/flows.js";
import {
  parseEmulatorOptions,
  parseWorkspaceOptions,
  type CheckedOptions,
  type EmulatorOptions,
  type WorkspaceOptions,
} from "./options.js";
import { createDispatcher } from "./outgoing.js";
import { openParts, type Parts } from "./parts.js";
import type { DeliveryRecord, HandshakeRecord, MessageRecord, RecordedRequest } from "./records.js";
import { resetState } from "./reset.js";
import { waitForRecord, type Match, type WaitOptions } from "./wait.js";
import { createWorkspaceHandle, type Workspace } from "./workspace.js";
import { createWorkspace, removeWorkspace } from "./workspace-admin.js";
import type { WorkspaceState } from "./workspace-state.js";

/** A running emulator of the service. */
export interface Emulator {
  /** Origin of the registration interface. A workspace's `baseUrl` lies under it. */
  readonly url: string;
  /** Origin of the bot host, on another port: `{bot_base_url}` of the specification. */
  readonly botUrl: string;
  readonly workspaces: ReadonlyMap<string, Workspace>;
  /** The workspace of this name; throws `invalid_config` if there is none. */
  workspace(name: string): Workspace;
  /** Adds a workspace. Throws `invalid_config` if an option is wrong, or its name, bot code or address is taken. */
  addWorkspace(options: WorkspaceOptions): Workspace;
  /** Removes a workspace with all that it holds; what is still to be delivered never is. Throws `invalid_config` if there is none. */
  removeWorkspace(name: string): void;
  /** Every request received, oldest first, with all keys in clear; the last 10,000 are kept. */
  readonly requests: readonly RecordedRequest[];
  /** Makes the next calls of an operation go wrong. Rules are tried in the order of injection; the first strikes. */
  injectFault(rule: FaultRule): void;
  /** Takes back every fault that was injected. */
  clearFaults(): void;
  /** Calls the listener with everything that happens from now on, secrets masked, until the function given back is called. */
  subscribe(listener: (event: EmulatorEvent) => void): () => void;
  /**
   * Resolves with the newest delivery that matches, or with the next one that comes to. One that is pending counts only where
   * `verdict` asks for it. Throws `timeout`, saying what was seen instead.
   */
  waitForDelivery(match?: Match<DeliveryRecord>, options?: WaitOptions): Promise<DeliveryRecord>;
  /** Resolves with the newest handshake that matches, or with the next one. Throws `timeout`, saying what was seen instead. */
  waitForHandshake(match?: Match<HandshakeRecord>, options?: WaitOptions): Promise<HandshakeRecord>;
  /** Resolves with the newest message that matches, or with the next one. Throws `timeout`, saying what was seen instead. */
  waitForMessage(match?: Match<MessageRecord>, options?: WaitOptions): Promise<MessageRecord>;
  /**
   * Forgets conversations, deliveries, handshakes, requests and faults. Workspaces stay, with their keys and registrations,
   * unless they are to go too. Resolves when nothing of what was forgotten is under way any more.
   */
  reset(options?: { workspaces?: boolean }): Promise<void>;
  /** Ends everything, also connections that wait for an answer. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the service on this machine: the registration interface with real handshakes, messages on `bot_url`, flows that
 * reply, and signed deliveries (sections 4 and 6). Throws `invalid_config` naming each option that is wrong, or a port that
 * cannot be had.
 *
 * @example
 * const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey: "an-api-key" }] });
 * console.log(emulator.workspace("acme").baseUrl);
 * await emulator.close();
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const checked = parseEmulatorOptions(options);
  assertTokenIfReachable(checked);
  const closing = new AbortController();
  const state = createState(checked, closing.signal);
  const ready = Promise.withResolvers<void>();
  const parts = await openParts(state, ready.promise);
  state.origins = { registration: parts.registration.origin, bot: parts.bots.origin };
  const emulator = createEmulator(state, parts, closing);
  try {
    nameFlows(state, checked.workspaces);
    parts.store?.attach(state);
    addWorkspaces(state, checked.workspaces);
    for (const fault of checked.faults) emulator.injectFault(fault);
    resumeDeliveries(state);
    ready.resolve();
  } catch (error) {
    ready.resolve();
    await emulator.close();
    throw error;
  }
  return emulator;
}

function createEmulator(
  state: EmulatorState,
  { bots, registration, store }: Parts,
  closing: AbortController,
): Emulator {
  const handleOf = createHandles(state);
  const findWorkspace = (name: string): Workspace => {
    const workspace = state.directory.get(name);
    if (!workspace) throw invalidOption(`there is no workspace named "${name}"`);
    return handleOf(workspace);
  };
  return {
    url: registration.origin,
    botUrl: bots.origin,
    get workspaces() {
      return new Map([...state.directory].map(([name, workspace]) => [name, handleOf(workspace)]));
    },
    requests: state.requests,
    workspace: findWorkspace,
    addWorkspace: (wanted) => handleOf(createWorkspace(state, parseWorkspaceOptions(wanted))),
    removeWorkspace: (name) => removeWorkspace(state, name),
    injectFault: (rule) => {
      // A misspelt name would be a fault that never strikes.
      if (rule.workspace !== undefined) findWorkspace(rule.workspace);
      addFault(state, rule);
    },
    clearFaults: () => {
      state.faults.length = 0;
      state.changes.publish({ kind: "faults" });
    },
    subscribe: (listener) => subscribeTo({ state, reveal: false }, listener),
    waitForDelivery: (match = {}, options = {}) => waitForRecord(state, "delivery", { match, options }),
    waitForHandshake: (match = {}, options = {}) => waitForRecord(state, "handshake", { match, options }),
    waitForMessage: (match = {}, options = {}) => waitForRecord(state, "message", { match, options }),
    reset: (options) => resetState(state, options),
    close: async () => {
      // What is broken off now is done by the next emulator on the same data.
      store?.detach();
      closing.abort();
      await Promise.all([registration.close(), bots.close()]);
      await state.outgoing.dispatcher.destroy();
      store?.close();
    },
  };
}

/** Also of workspaces that the data holds: a file keeps no function, only its name. */
function nameFlows({ flows, settings }: EmulatorState, wanted: readonly WorkspaceOptions[]): void {
  for (const { name, flow } of wanted) flowNameOf(flows, flow, { for: name, otherwise: settings.flow });
}

/** Those that the data holds already stay as they are there. */
function addWorkspaces(state: EmulatorState, wanted: readonly WorkspaceOptions[]): void {
  const kept = new Set(state.directory.keys());
  for (const workspace of wanted) if (!kept.has(workspace.name)) createWorkspace(state, workspace);
}

/** One handle for each workspace, made when it is first asked for. */
function createHandles(state: EmulatorState): (workspace: WorkspaceState) => Workspace {
  const handles = new WeakMap<WorkspaceState, Workspace>();
  return (workspace) => {
    const handle = handles.get(workspace) ?? createWorkspaceHandle(state, workspace);
    handles.set(workspace, handle);
    return handle;
  };
}

function createState(options: CheckedOptions, closing: AbortSignal): EmulatorState {
  const { workspaces: _workspaces, flows: named, flow: chosen, faults: _faults, ...rest } = options;
  const flows = createFlows(named, rest);
  const flow = flowNameOf(flows, chosen, { for: "default", otherwise: "echo" });
  return {
    settings: { ...rest, token: rest.token, data: rest.data, flow },
    directory: new Map(),
    faults: [],
    requests: [],
    flows,
    changes: new ChangeHub(),
    lastOrder: 0,
    origins: { registration: "", bot: "" },
    outgoing: { dispatcher: createDispatcher(), closing },
  };
}
