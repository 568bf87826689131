import { createHash } from "node:crypto";
import type { WorkspaceOptions } from "./options.js";
import type { Conversation } from "./conversations.js";
import type { DeliveryRecord, HandshakeRecord } from "./records.js";
import type { DeliveryWhile } from "./switches.js";

/** What a workspace holds while a webhook is registered (section 2.1, without the bot's address). */
export interface Registration {
  webhook_url: string;
  webhook_verification_key: string;
  webhook_status: string;
}

/** All that the emulator holds of one workspace: plain data, changed by the functions of this folder. */
export interface WorkspaceState {
  readonly name: string;
  /** The path of `baseUrl`, such as `/acme/apichat`. */
  readonly path: string;
  /** The query of `baseUrl`, without `?`. */
  readonly query: string;
  apiKey: string;
  /** What messages on `bot_url` are sent with (section 5). */
  flowApiKey: string;
  mayManageFlow: boolean;
  /** The name of what replies. */
  flow: string;
  botCode: string;
  botBaseUrl: string;
  /** The namespace of the bot's flow, in the header `x-flow-ns` of deliveries (section 6.2). */
  readonly flowNs: string;
  registration: Registration | undefined;
  /** Whether a webhook was ever registered: before that, get-webhook answers as `beforeFirstSet` says. */
  everSet: boolean;
  /** When the registration becomes `verified` by itself, in milliseconds since 1970. */
  verifiesAtMs: number | undefined;
  /** The workspace that calls to this one's address reach, if it is not this one. */
  owner: string | undefined;
  handshakes: HandshakeRecord[];
  deliveries: DeliveryRecord[];
  /** By conversation id and contact. */
  conversations: Map<string, Conversation>;
  /** When the calls and messages of the last second came, as `performance.now()`; kept only where they are limited. */
  requestTimes: number[];
  /** Settles when the last call that was accepted is through. */
  lastCall: Promise<void>;
}

/** A workspace as it begins. `flow` is the name of what replies, where the options name none or a function. */
export function createWorkspaceState(
  options: WorkspaceOptions,
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
    registration: undefined,
    everSet: false,
    verifiesAtMs: undefined,
    owner: undefined,
    handshakes: [],
    deliveries: [],
    conversations: new Map(),
    requestTimes: [],
    lastCall: Promise.resolve(),
  };
}

export function botUrlOf(state: WorkspaceState): string {
  return `${state.botBaseUrl}/api/apichat/${state.botCode}`;
}

/** Registers, as if by a good set-webhook. */
export function register(state: WorkspaceState, registration: Registration, verifiesAtMs?: number): void {
  state.registration = registration;
  state.everSet = true;
  state.verifiesAtMs = verifiesAtMs;
}

/** Removes the registration: from now on the four fields are empty, as after delete-webhook. */
export function unregister(state: WorkspaceState): void {
  state.registration = undefined;
  state.everSet = true;
  state.verifiesAtMs = undefined;
}

/** The registration as it stands now: the status that time has brought is written down first. */
export function currentRegistration(state: WorkspaceState): Registration | undefined {
  if (state.registration && state.verifiesAtMs !== undefined && Date.now() >= state.verifiesAtMs) {
    state.registration.webhook_status = "verified";
    state.verifiesAtMs = undefined;
  }
  return state.registration;
}

/** The registration that deliveries go to now, if there is one. */
export function deliverableRegistration(
  state: WorkspaceState,
  { deliveryWhile }: { deliveryWhile: DeliveryWhile },
): Registration | undefined {
  const registration = currentRegistration(state);
  const takes = deliveryWhile === "registered" || registration?.webhook_status === "verified";
  return takes ? registration : undefined;
}

/** Runs a call after those that were accepted before it: a workspace does one thing at a time. */
export function runInTurn<T>(state: WorkspaceState, call: () => Promise<T>): Promise<T> {
  const turn = state.lastCall.then(call);
  state.lastCall = turn.then(doNothing, doNothing);
  return turn;
}

function doNothing(): void {}

function deriveCode(purpose: string, name: string): string {
  return `f${createHash("sha256").update(`${purpose}:${name}`).digest("hex").slice(0, 23)}`;
}
