import * as z from "zod";
import type { OutboundMessage, WebhookConfiguration } from "../../schema/index.js";
import { deliverMessage, type DeliveryOptions } from "./deliveries/delivery.js";
import type { EmulatorState } from "./emulator-state.js";
import { invalidOption, parseOptions, pathSegment } from "./check-options.js";
import type { DeliveryRecord, HandshakeRecord } from "./records.js";
import { readConfiguration } from "./registration.js";
import { assertAddressIsFree, assertBotCodeIsFree } from "./workspace-directory.js";
import { botUrlOf, register, unregister, type Registration, type WorkspaceState } from "./workspace-state.js";

/** What can change without the client's doing. */
export interface WorkspaceChange extends Partial<Registration> {
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

/** A workspace of the emulator, for tests: what it holds, what it did, and how to change it behind a client's back. */
export interface Workspace {
  readonly name: string;
  /** What requests must hold in `ChaveApi`. Assign another to rotate it. */
  apiKey: string;
  /** The address of its registration interface (section 4.1), with its own query if it has one. */
  readonly baseUrl: string;
  readonly botCode: string;
  /** Where its messages go (section 4.2), also while nothing is registered. */
  readonly botUrl: string;
  /** The namespace of its flow: the header `x-flow-ns` of deliveries. */
  readonly flowNs: string;
  /** What messages to `botUrl` must be sent with (section 5). Assign another to rotate it. */
  flowApiKey: string;
  /** Whether the flow API key has the permission "Gerenciar Fluxo" (section 5). */
  mayManageFlow: boolean;
  /** The name of what replies. Throws `invalid_config` when assigned a name that the emulator has no flow of. */
  flow: string;
  /** What is registered, with the key in clear and the URL as it was set; undefined if nothing is. */
  readonly registration: WebhookConfiguration | undefined;
  /** The handshakes made for it, oldest first. */
  readonly handshakes: readonly HandshakeRecord[];
  /** The deliveries made for it, oldest first. */
  readonly deliveries: readonly DeliveryRecord[];
  /** Changes the registration or the bot without a handshake. Throws `invalid_config` if nothing is registered to change. */
  change(change: WorkspaceChange): void;
  /** Somebody else registers an endpoint of its own: `verified`, without a handshake. */
  takeOver(registration: Pick<Registration, "webhook_url" | "webhook_verification_key">): void;
  /** Somebody else removes the registration: all four fields are empty, as after delete-webhook. */
  remove(): void;
  /**
   * Signs a message with the registered key and posts it to the registered URL, once, whatever the status (section 6.2).
   * What the endpoint answers is in the result. Throws `invalid_config` if nothing is registered.
   */
  deliver(message: OutboundMessage, options?: DeliveryOptions): Promise<DeliveryRecord>;
}

const workspaceChange = z.strictObject({
  webhook_url: z.string().min(1).optional(),
  webhook_verification_key: z.string().min(1).optional(),
  webhook_status: z.string().optional(),
  botCode: pathSegment.optional(),
  botBaseUrl: z.url().optional(),
  owner: z.string().optional(),
});

const takeover = z.strictObject({
  webhook_url: z.string().min(1),
  webhook_verification_key: z.string().min(1),
});

/** The handle of a workspace. It holds nothing itself: all is in the state. */
export function createWorkspaceHandle(
  emulator: EmulatorState,
  state: WorkspaceState,
  origin: string,
): Workspace {
  return {
    name: state.name,
    flowNs: state.flowNs,
    baseUrl: `${origin}${state.path}${state.query === "" ? "" : `?${state.query}`}`,
    handshakes: state.handshakes,
    deliveries: state.deliveries,
    get apiKey() {
      return state.apiKey;
    },
    set apiKey(apiKey: string) {
      rotateApiKey(emulator, state, apiKey);
    },
    get flowApiKey() {
      return state.flowApiKey;
    },
    set flowApiKey(flowApiKey: string) {
      state.flowApiKey = parseOptions("flowApiKey", z.string().min(1), flowApiKey);
      tellOf(emulator, state);
    },
    get mayManageFlow() {
      return state.mayManageFlow;
    },
    set mayManageFlow(mayManageFlow: boolean) {
      state.mayManageFlow = parseOptions("mayManageFlow", z.boolean(), mayManageFlow);
      tellOf(emulator, state);
    },
    get flow() {
      return state.flow;
    },
    set flow(flow: string) {
      assertFlowExists(emulator, flow);
      state.flow = flow;
      tellOf(emulator, state);
    },
    get botCode() {
      return state.botCode;
    },
    get botUrl() {
      return botUrlOf(state);
    },
    get registration() {
      return readConfiguration(state);
    },
    change: (change) => changeWorkspace(emulator, state, change),
    takeOver: (registration) => {
      register(state, { ...parseOptions("takeOver", takeover, registration), webhook_status: "verified" });
      tellOf(emulator, state);
    },
    remove: () => {
      unregister(state);
      tellOf(emulator, state);
    },
    deliver: (message, options) => deliverMessage(emulator, state, message, options),
  };
}

/** Throws `invalid_config` if the emulator has no flow of this name. */
export function assertFlowExists({ flows }: EmulatorState, flow: string): void {
  if (flows.has(flow)) return;
  throw invalidOption(`flow: there is none named "${flow}"; there are ${[...flows.keys()].join(", ")}`);
}

function tellOf({ changes }: EmulatorState, workspace: WorkspaceState): void {
  changes.publish({ kind: "workspace", workspace });
}

function rotateApiKey(emulator: EmulatorState, state: WorkspaceState, apiKey: string): void {
  parseOptions("apiKey", z.string().min(1), apiKey);
  assertAddressIsFree(emulator.directory, state, apiKey);
  state.apiKey = apiKey;
  tellOf(emulator, state);
}

function changeWorkspace(emulator: EmulatorState, state: WorkspaceState, change: WorkspaceChange): void {
  const { botCode, botBaseUrl, owner, ...fields } = parseOptions("change", workspaceChange, change);
  const registration = Object.keys(fields).length === 0 ? undefined : readRegistrationToChange(state);
  if (botCode !== undefined) assertBotCodeIsFree(emulator.directory, state, botCode);
  if (owner !== undefined && !emulator.directory.has(owner)) {
    throw invalidOption(`change: there is no workspace named "${owner}"`);
  }
  state.botCode = botCode ?? state.botCode;
  state.botBaseUrl = botBaseUrl ?? state.botBaseUrl;
  state.owner = owner ?? state.owner;
  if (registration) {
    const verifiesAtMs = fields.webhook_status === undefined ? state.verifiesAtMs : undefined;
    register(state, { ...registration, ...fields }, verifiesAtMs);
  }
  tellOf(emulator, state);
}

function readRegistrationToChange(state: WorkspaceState): Registration {
  const configuration = readConfiguration(state);
  if (!configuration)
    throw invalidOption(`change: workspace "${state.name}" has nothing registered; use takeOver`);
  const { webhook_url, webhook_verification_key, webhook_status } = configuration;
  return { webhook_url, webhook_verification_key, webhook_status };
}
