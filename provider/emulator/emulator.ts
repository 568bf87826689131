import { Agent } from "undici";
import { answerBot } from "./bot-interface.js";
import { ChangeHub } from "./changes.js";
import { invalidOption } from "./check-options.js";
import type { EmulatorState } from "./emulator-state.js";
import { addFault, type FaultRule } from "./faults.js";
import { createFlows, flowNameOf } from "./flows/flows.js";
import { createApp, listen, type HttpListener } from "./http-server.js";
import {
  parseEmulatorOptions,
  parseWorkspaceOptions,
  type CheckedOptions,
  type EmulatorOptions,
  type WorkspaceOptions,
} from "./options.js";
import type { RecordedRequest } from "./records.js";
import { answerRegistration } from "./registration-interface.js";
import { assertFlowExists, createWorkspaceHandle, type Workspace } from "./workspace.js";
import { enrol } from "./workspace-directory.js";
import { createWorkspaceState } from "./workspace-state.js";

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
  /** Every request received, oldest first, with all keys in clear; the last 10,000 are kept. */
  readonly requests: readonly RecordedRequest[];
  /** Makes the next calls of an operation go wrong. Rules are tried in the order of injection; the first strikes. */
  injectFault(rule: FaultRule): void;
  /** Takes back every fault that was injected. */
  clearFaults(): void;
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
  const closing = new AbortController();
  const state = createState(checked, closing.signal);
  const listeners = await listenOnBoth(state);
  state.origins = { registration: listeners.registration.origin, bot: listeners.bots.origin };
  const emulator = createEmulator(state, listeners, closing);
  try {
    for (const workspace of checked.workspaces) emulator.addWorkspace(workspace);
    for (const fault of checked.faults) emulator.injectFault(fault);
  } catch (error) {
    await emulator.close();
    throw error;
  }
  return emulator;
}

interface Listeners {
  bots: HttpListener;
  registration: HttpListener;
}

async function listenOnBoth(state: EmulatorState): Promise<Listeners> {
  const { host, port, botPort } = state.settings;
  const botApp = createApp(noRoutes, (request) => answerBot(state, request));
  const registrationApp = createApp(noRoutes, (request) => answerRegistration(state, request));
  const bots = await listen(botApp, host, botPort);
  try {
    return { bots, registration: await listen(registrationApp, host, port) };
  } catch (error) {
    await bots.close();
    throw error;
  }
}

function noRoutes(): void {}

function createEmulator(
  state: EmulatorState,
  { bots, registration }: Listeners,
  closing: AbortController,
): Emulator {
  const workspaces = new Map<string, Workspace>();
  const findWorkspace = (name: string): Workspace => {
    const workspace = workspaces.get(name);
    if (!workspace) throw invalidOption(`there is no workspace named "${name}"`);
    return workspace;
  };
  return {
    url: registration.origin,
    botUrl: bots.origin,
    workspaces,
    requests: state.requests,
    workspace: findWorkspace,
    addWorkspace: (wanted) => {
      const workspace = addWorkspace(state, parseWorkspaceOptions(wanted));
      workspaces.set(workspace.name, workspace);
      return workspace;
    },
    injectFault: (rule) => {
      // A misspelt name would be a fault that never strikes.
      if (rule.workspace !== undefined) findWorkspace(rule.workspace);
      addFault(state, rule);
    },
    clearFaults: () => {
      state.faults.length = 0;
      state.changes.publish({ kind: "faults" });
    },
    close: async () => {
      closing.abort();
      await Promise.all([registration.close(), bots.close()]);
      await state.outgoing.dispatcher.destroy();
    },
  };
}

function addWorkspace(state: EmulatorState, options: WorkspaceOptions): Workspace {
  const flow = flowNameOf(state.flows, options.flow, { for: options.name, otherwise: state.settings.flow });
  assertFlowExists(state, flow);
  const workspace = createWorkspaceState(options, { botBaseUrl: state.origins.bot, flow });
  enrol(state.directory, workspace);
  state.changes.publish({ kind: "workspace", workspace });
  return createWorkspaceHandle(state, workspace, state.origins.registration);
}

function createState(options: CheckedOptions, closing: AbortSignal): EmulatorState {
  const { workspaces: _workspaces, flows: named, flow: chosen, faults: _faults, ...rest } = options;
  const flows = createFlows(named);
  const flow = flowNameOf(flows, chosen, { for: "default", otherwise: "echo" });
  // A connection of its own for each request: none is idle while the endpoint behind it ends.
  const dispatcher = new Agent({ pipelining: 0 });
  return {
    settings: { ...rest, token: rest.token, data: rest.data, flow },
    directory: new Map(),
    faults: [],
    requests: [],
    flows,
    changes: new ChangeHub(),
    lastOrder: 0,
    origins: { registration: "", bot: "" },
    outgoing: { dispatcher, closing },
  };
}
