import type { IncomingMessage } from "node:http";
import { Agent } from "undici";
import { KeyedQueue } from "../lib/keyed-queue.js";
import { isLoopback } from "../lib/url.js";
import { VERSION } from "../lib/version.js";
import { createControl } from "./control/app.js";
import type { EmulatorEvent } from "./control/shapes.js";
import { subscribeTo } from "./control/views.js";
import { invalidOption, parseOptions } from "./usage-errors.js";
import { FaultList, faultRule, type FaultRule } from "./faults.js";
import {
  emulatorOptions,
  workspaceOptions,
  type EmulatorOptions,
  type Settings,
  type WorkspaceOptions,
} from "./options.js";
import {
  requestUrlOf,
  createService,
  listen,
  type HttpListener,
  type RequestHandler,
} from "./service/http.js";
import { identifyMessage } from "./service/messages.js";
import { identifyAction } from "./service/registration.js";
import {
  ChangeHub,
  type DeliveryRecord,
  type EmulatorState,
  type HandshakeRecord,
  type MessageRecord,
  type RecordedRequest,
  type WorkspaceState,
} from "./state.js";
import { waitForRecord, type Match, type WaitOptions } from "./wait.js";
import { createWorkspaceHandle, type Workspace } from "./workspace-handle.js";
import { createWorkspace, findWorkspace, injectFault, removeWorkspace, resetState } from "./workspaces.js";

/** A running emulator of the service. */
export interface Emulator {
  /** Origin of the registration interface: every `baseUrl` starts with it. */
  readonly url: string;
  /** Origin of the bot host, on another port: the specification's `{bot_base_url}`. */
  readonly botUrl: string;
  /** The workspaces by name. */
  readonly workspaces: ReadonlyMap<string, Workspace>;
  /** Returns the workspace of this name. Throws `invalid_config` if there is none. */
  workspace(name: string): Workspace;
  /**
   * Adds a workspace. Throws `invalid_config` if an option is wrong, or if the workspace's name, bot code or
   * address is already used.
   */
  addWorkspace(options: WorkspaceOptions): Workspace;
  /**
   * Removes a workspace and everything in it; its pending deliveries fail. Throws `invalid_config` if there
   * is none.
   */
  removeWorkspace(name: string): void;
  /** Every request received, oldest first, with unmasked keys; the last 10,000 are kept. */
  readonly requests: readonly RecordedRequest[];
  /** Makes the next calls of an operation fail. If several rules match, the one injected first applies. */
  injectFault(rule: FaultRule): void;
  /** Removes every injected fault. */
  clearFaults(): void;
  /** Calls the listener with every later event, with secrets masked. Returns a function that unsubscribes. */
  subscribe(listener: (event: EmulatorEvent) => void): () => void;
  /**
   * Resolves with the newest delivery that matches; if none does yet, with the next that does. A pending delivery
   * matches only if `match` asks for `pending`. If no delivery matches in time, throws `timeout` and names the latest.
   */
  waitForDelivery(match?: Match<DeliveryRecord>, options?: WaitOptions): Promise<DeliveryRecord>;
  /**
   * Resolves with the newest handshake that matches; if none does yet, with the next that does. If none matches in
   * time, throws `timeout` and names the latest handshakes.
   */
  waitForHandshake(match?: Match<HandshakeRecord>, options?: WaitOptions): Promise<HandshakeRecord>;
  /**
   * Resolves with the newest message that matches; if none does yet, with the next that does. If none matches in
   * time, throws `timeout` and names the latest messages.
   */
  waitForMessage(match?: Match<MessageRecord>, options?: WaitOptions): Promise<MessageRecord>;
  /**
   * Removes all conversations, deliveries, handshakes, requests and faults. Workspaces stay, with their keys and
   * registrations. Resolves when no attempt of a removed delivery is in progress.
   */
  reset(options?: {
    /** Removes the workspaces too. Default false. */
    workspaces?: boolean;
  }): Promise<void>;
  /**
   * Stops the emulator and closes all connections, including those that wait for a response. May be called
   * more than once.
   */
  close(): Promise<void>;
}

/**
 * Starts the service on this machine: the registration interface with real handshakes, messages on `bot_url`,
 * flows that reply, and signed deliveries (sections 4 and 6). Throws `invalid_config` and names each wrong
 * option, or a port that is not available.
 *
 * @example
 * const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey: "an-api-key" }] });
 * console.log(emulator.workspace("acme").baseUrl);
 * await emulator.close();
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const checked = parseOptions("startEmulator", emulatorOptions, options);
  if (checked.token === undefined && !isLoopback(checked.host)) {
    throw invalidOption(
      `startEmulator: host: ${checked.host} can be reached from other machines, but there is no token; pass one, or ` +
        "listen on 127.0.0.1",
    );
  }
  const closing = new AbortController();
  const state = createState(checked, closing.signal);
  const ready = Promise.withResolvers<void>();
  const listeners: HttpListener[] = [];
  const open = async (port: number, respond: RequestHandler): Promise<string> => {
    const listener = await listen({ host: checked.host, port, ready: ready.promise }, respond);
    listeners.push(listener);
    return listener.origin;
  };
  const close = async (): Promise<void> => {
    closing.abort();
    ready.resolve();
    await Promise.all(listeners.map((listener) => listener.close()));
    await state.outgoing.dispatcher.destroy();
  };
  try {
    state.origins.bot = await open(checked.botPort, createService(state, "bot", identifyMessage));
    const service = createService(state, "registration", identifyAction);
    const control = createControl(state);
    state.origins.registration = await open(checked.port, (incoming, outgoing) =>
      isControl(incoming) ? control(incoming, outgoing) : service(incoming, outgoing),
    );
    for (const workspace of checked.workspaces) createWorkspace(state, workspace);
    const emulator = createEmulator(state, close);
    for (const fault of checked.faults) emulator.injectFault(fault);
    ready.resolve();
    return emulator;
  } catch (error) {
    await close();
    throw error;
  }
}

function createState(settings: Settings, closing: AbortSignal): EmulatorState {
  const changes = new ChangeHub();
  return {
    settings,
    directory: new Map(),
    faults: new FaultList((active) => changes.publish({ type: "faults", faults: active })),
    requests: [],
    turns: new KeyedQueue(),
    changes,
    lastOrder: 0,
    origins: { registration: "", bot: "" },
    outgoing: {
      dispatcher: new Agent({ keepAliveTimeout: KEEP_ALIVE_MS, keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS }),
      userAgent: `pulumi-apichat-emulator/${VERSION}`,
      closing,
    },
  };
}

/**
 * How long an idle connection is kept: long enough for a burst of requests, but shorter than servers keep one by
 * default. A connection that the endpoint is closing must not be reused, because a POST without a response cannot
 * be repeated.
 */
const KEEP_ALIVE_MS = 100;

/** Caps the keep-alive time that an endpoint announces. undici first subtracts 2 seconds from that time. */
const MAX_KEEP_ALIVE_MS = 10_000;

function isControl(incoming: IncomingMessage): boolean {
  const { pathname } = requestUrlOf(incoming);
  if (pathname === "/") return incoming.method === "GET";
  return pathname === "/_emulator" || pathname.startsWith("/_emulator/");
}

function createEmulator(state: EmulatorState, close: () => Promise<void>): Emulator {
  const handleOf = (workspace: WorkspaceState): Workspace => createWorkspaceHandle(state, workspace);
  return {
    url: state.origins.registration,
    botUrl: state.origins.bot,
    get workspaces() {
      return new Map([...state.directory].map(([name, workspace]) => [name, handleOf(workspace)]));
    },
    requests: state.requests,
    workspace: (name) => handleOf(findWorkspace(state, name)),
    addWorkspace: (wanted) =>
      handleOf(createWorkspace(state, parseOptions("addWorkspace", workspaceOptions, wanted))),
    removeWorkspace: (name) => removeWorkspace(state, findWorkspace(state, name)),
    injectFault: (rule) => void injectFault(state, parseOptions("injectFault", faultRule, rule)),
    clearFaults: () => state.faults.clear(),
    subscribe: (listener) => subscribeTo({ state, reveal: false }, listener),
    waitForDelivery: (match = {}, options = {}) => waitForRecord(state, "delivery", match, options),
    waitForHandshake: (match = {}, options = {}) => waitForRecord(state, "handshake", match, options),
    waitForMessage: (match = {}, options = {}) => waitForRecord(state, "message", match, options),
    reset: (options) => resetState(state, options),
    close,
  };
}
