import type { IncomingMessage, ServerResponse } from "node:http";
import { createControl } from "./control/app.js";
import { assertSameOrigin } from "./control/guard.js";
import { isLoopback } from "../lib/url.js";
import type { EmulatorEvent } from "./control/shapes.js";
import { subscribeTo } from "./control/views.js";
import { queueDelivery } from "./deliveries/delivery.js";
import { invalidOption, parseOptions, HttpError } from "./errors.js";
import { FaultList, faultRule, type FaultRule } from "./faults.js";
import { createFlows, flowNameOf } from "./flows/flows.js";
import { answerMessage } from "./flows/run-flow.js";
import {
  emulatorOptions,
  workspaceOptions,
  type EmulatorOptions,
  type EmulatorSettings,
  type WorkspaceOptions,
} from "./options.js";
import { answerBot } from "./service/messages.js";
import { addressOf, answerJson, answerRaw, listen, send, type HttpListener } from "./service/http.js";
import { createDispatcher } from "./service/outgoing.js";
import { answerRegistration } from "./service/registration.js";
import {
  ChangeHub,
  nextRecord,
  type DeliveryRecord,
  type EmulatorState,
  type HandshakeRecord,
  type MessageRecord,
  type RecordedRequest,
  type WorkspaceState,
} from "./state.js";
import { EmulatorStore } from "./store.js";
import { waitForRecord, type Match, type WaitOptions } from "./wait.js";
import { createWorkspaceHandle, type Workspace } from "./workspace.js";
import { createWorkspace, removeWorkspace, resetState } from "./workspaces.js";

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
  /** Removes a workspace and everything in it; its pending deliveries fail. Throws `invalid_config` if there is none. */
  removeWorkspace(name: string): void;
  /** Every request received, oldest first, with all keys in clear; the last 10,000 are kept. */
  readonly requests: readonly RecordedRequest[];
  /** Makes the next calls of an operation go wrong. Rules are tried in the order of injection; the first that matches counts. */
  injectFault(rule: FaultRule): void;
  /** Takes back every fault that was injected. */
  clearFaults(): void;
  /** Calls the listener with everything that happens from now on, secrets masked, until the function given back is called. */
  subscribe(listener: (event: EmulatorEvent) => void): () => void;
  /**
   * Resolves with the newest matching delivery, or with the next one that matches. A pending delivery matches only if `verdict`
   * asks for it. Throws `timeout`, naming what was seen instead.
   */
  waitForDelivery(match?: Match<DeliveryRecord>, options?: WaitOptions): Promise<DeliveryRecord>;
  /** Resolves with the newest handshake that matches, or with the next one. Throws `timeout` with what was seen instead. */
  waitForHandshake(match?: Match<HandshakeRecord>, options?: WaitOptions): Promise<HandshakeRecord>;
  /** Resolves with the newest message that matches, or with the next one. Throws `timeout` with what was seen instead. */
  waitForMessage(match?: Match<MessageRecord>, options?: WaitOptions): Promise<MessageRecord>;
  /**
   * Forgets conversations, deliveries, handshakes, requests and faults. Workspaces stay, with their keys and registrations,
   * unless they are to go too. Resolves when nothing of what was forgotten is in progress any more.
   */
  reset(options?: { workspaces?: boolean }): Promise<void>;
  /** Stops the emulator and closes all connections, including those waiting for a response. May be called more than once. */
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
  const checked = parseOptions("startEmulator", emulatorOptions, options);
  if (checked.token === undefined && !isLoopback(checked.host)) {
    throw invalidOption(
      `startEmulator: host: ${checked.host} can be reached from other machines, and there is no token; give one, or ` +
        "listen on 127.0.0.1",
    );
  }
  const closing = new AbortController();
  const state = createState(checked, closing.signal);
  const ready = Promise.withResolvers<void>();
  const parts = await openParts(state, ready.promise);
  state.origins = { registration: parts.registration.origin, bot: parts.bots.origin };
  const emulator = createEmulator(state, parts, closing);
  try {
    // Also of workspaces that the data holds: a file keeps no function, only its name.
    for (const { name, flow } of checked.workspaces) {
      flowNameOf(state.flows, flow, { for: name, otherwise: state.settings.flow });
    }
    parts.store?.attach(state);
    // Those that the data holds already stay as they are there.
    const kept = new Set(state.directory.keys());
    for (const workspace of checked.workspaces)
      if (!kept.has(workspace.name)) createWorkspace(state, workspace);
    for (const fault of checked.faults) emulator.injectFault(fault);
    resume(state);
    ready.resolve();
  } catch (error) {
    ready.resolve();
    await emulator.close();
    throw error;
  }
  return emulator;
}

function createState(options: EmulatorSettings, closing: AbortSignal): EmulatorState {
  const changes = new ChangeHub();
  const flows = createFlows(options.flows, options);
  const flow = flowNameOf(flows, options.flow, { for: "default", otherwise: "echo" });
  return {
    settings: { ...options, flow },
    directory: new Map(),
    faults: new FaultList(() => changes.publish({ kind: "faults" })),
    requests: [],
    flows,
    changes,
    lastOrder: 0,
    origins: { registration: "", bot: "" },
    outgoing: { dispatcher: createDispatcher(), closing },
  };
}

/** What an emulator has open. */
interface Parts {
  bots: HttpListener;
  registration: HttpListener;
  store: EmulatorStore | undefined;
}

/** Opens all of it or nothing. No request is answered before `ready`. */
async function openParts(state: EmulatorState, ready: Promise<void>): Promise<Parts> {
  const { host, port, botPort, data } = state.settings;
  const store = data === undefined ? undefined : new EmulatorStore(data);
  let bots: HttpListener | undefined;
  try {
    bots = await listen({ host, port: botPort }, createService(state, ready, answerBot));
    const service = createService(state, ready, answerRegistration);
    const control = createControl(state);
    const registration = await listen({ host, port }, async (incoming, outgoing) => {
      if (!isControl(incoming)) return service(incoming, outgoing);
      await ready;
      return control(incoming, outgoing);
    });
    return { bots, registration, store };
  } catch (error) {
    await bots?.close();
    store?.close();
    throw error;
  }
}

function isControl(incoming: IncomingMessage): boolean {
  const { pathname } = addressOf(incoming);
  if (pathname === "/") return incoming.method === "GET";
  return pathname === "/_emulator" || pathname.startsWith("/_emulator/");
}

/**
 * One of the two interfaces of the service. On a port that only this machine reaches it is guarded: the keys of a test are no
 * secret, so a web page could read and change a registration with them. Elsewhere it is as open as the service's.
 */
function createService(
  state: EmulatorState,
  ready: Promise<void>,
  answer: typeof answerBot,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  const { settings } = state;
  return async (incoming, outgoing) => {
    await ready;
    try {
      if (isLoopback(settings.host)) assertSameOrigin(settings, incoming);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return send(outgoing, answerJson(403, { error: { code: "forbidden", message: error.message } }));
    }
    return answerRaw(incoming, outgoing, (request) => answer(state, request));
  };
}

function createEmulator(
  state: EmulatorState,
  { bots, registration, store }: Parts,
  closing: AbortController,
): Emulator {
  const handles = new WeakMap<WorkspaceState, Workspace>();
  const handleOf = (workspace: WorkspaceState): Workspace => {
    const handle = handles.get(workspace) ?? createWorkspaceHandle(state, workspace);
    handles.set(workspace, handle);
    return handle;
  };
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
    addWorkspace: (wanted) =>
      handleOf(createWorkspace(state, parseOptions("addWorkspace", workspaceOptions, wanted))),
    removeWorkspace: (name) => removeWorkspace(state, name),
    injectFault: (given) => {
      const rule = parseOptions("injectFault", faultRule, given);
      // A misspelt name would be a fault that never matches.
      if (rule.workspace !== undefined) findWorkspace(rule.workspace);
      state.faults.add(nextRecord(state, "fault").id, rule);
    },
    clearFaults: () => state.faults.clear(),
    subscribe: (listener) => subscribeTo({ state, reveal: false }, listener),
    waitForDelivery: (match = {}, options = {}) => waitForRecord(state, "delivery", match, options),
    waitForHandshake: (match = {}, options = {}) => waitForRecord(state, "handshake", match, options),
    waitForMessage: (match = {}, options = {}) => waitForRecord(state, "message", match, options),
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

/**
 * After a restart: resumes the deliveries that are pending, and has the flows answer the messages that none has answered. A
 * delivery that the endpoint took just before the end is sent again: its answer was not seen.
 */
function resume(state: EmulatorState): void {
  for (const workspace of state.directory.values()) {
    const conversations = new Map(Array.from(workspace.conversations.values(), (each) => [each.id, each]));
    for (const delivery of workspace.deliveries) {
      const conversation = conversations.get(delivery.conversation);
      if (!conversation || delivery.verdict !== "pending") continue;
      void queueDelivery({ state, workspace, conversation, delivery });
    }
    for (const conversation of conversations.values()) {
      for (const message of conversation.messages) {
        if (message.unanswered) void answerMessage({ state, workspace, conversation, message });
      }
    }
  }
}
