import { Agent } from "undici";
import { answerBot } from "./bot-interface.js";
import type { EmulatorState } from "./emulator-state.js";
import { addFault, type FaultRule } from "./faults.js";
import { listen, type HttpListener } from "./http-server.js";
import {
  invalidOption,
  parseEmulatorOptions,
  parseWorkspaceOptions,
  type EmulatorOptions,
  type Settings,
  type WorkspaceOptions,
} from "./options.js";
import type { RecordedRequest } from "./records.js";
import { answerRegistration } from "./registration-interface.js";
import { createWorkspaceHandle, type Workspace } from "./workspace.js";
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
  /** Every request received, oldest first, with all keys in clear. */
  readonly requests: readonly RecordedRequest[];
  /** Makes the next calls of an operation go wrong. Rules are tried in the order of injection; the first strikes. */
  injectFault(rule: FaultRule): void;
  /** Takes back every fault that was injected. */
  clearFaults(): void;
  /** Ends everything, also connections that wait for an answer. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the service on this machine: the registration interface with real handshakes, and signed deliveries on demand
 * (sections 4.1 and 6). Everything is held in memory, and nothing is logged. Throws `invalid_config` naming each option
 * that is wrong, or a port that cannot be had.
 *
 * @example
 * const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey: "an-api-key" }] });
 * console.log(emulator.workspace("acme").baseUrl);
 * await emulator.close();
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { settings, workspaces } = parseEmulatorOptions(options);
  const closing = new AbortController();
  const state = createState(settings, closing.signal);
  const listeners = await listenOnBoth(state);
  const emulator = createEmulator(state, listeners, closing);
  try {
    for (const workspace of workspaces) emulator.addWorkspace(workspace);
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
  const bots = await listen((request) => answerBot(state, request), host, botPort);
  try {
    const registration = await listen((request) => answerRegistration(state, request), host, port);
    return { bots, registration };
  } catch (error) {
    await bots.close();
    throw error;
  }
}

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
      const workspaceState = createWorkspaceState(parseWorkspaceOptions(wanted), bots.origin);
      enrol(state.directory, workspaceState);
      const workspace = createWorkspaceHandle(state, workspaceState, registration.origin);
      workspaces.set(workspace.name, workspace);
      return workspace;
    },
    injectFault: (rule) => {
      // A misspelt name would be a fault that never strikes.
      if (rule.workspace !== undefined) findWorkspace(rule.workspace);
      addFault(state.faults, rule);
    },
    clearFaults: () => {
      state.faults.length = 0;
    },
    close: async () => {
      closing.abort();
      await Promise.all([registration.close(), bots.close()]);
      await state.outgoing.dispatcher.destroy();
    },
  };
}

function createState(settings: Settings, closing: AbortSignal): EmulatorState {
  // A connection of its own for each request: none is idle while the endpoint behind it ends.
  const dispatcher = new Agent({ pipelining: 0 });
  return { settings, directory: new Map(), faults: [], requests: [], outgoing: { dispatcher, closing } };
}
