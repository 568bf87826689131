import { createRedactor, MASK, type Redact } from "../../lib/redact.js";
import { hideQuery, SECRET_CHARACTERS, secretsOfUrl } from "../../lib/url.js";
import { FLOW_NAMES } from "../names.js";
import type { HttpMessage } from "../service/outgoing.js";
import {
  type Change,
  type Conversation,
  currentRegistration,
  type EmulatorState,
  type WorkspaceState,
} from "../state.js";
import { baseUrlOf, botUrlOf, readConfiguration } from "../workspaces.js";
import type { ConversationView, EmulatorEvent, WorkspaceView } from "./shapes.js";

/** The state to show, and whether to show its secrets. */
export interface Viewer {
  state: EmulatorState;
  reveal: boolean;
}

export function viewRecord<Shown extends { workspace: string | null }>(
  { state, reveal }: Viewer,
  record: Shown,
): Shown {
  return reveal ? record : maskRecord(record, state);
}

export function viewWorkspace({ state, reveal }: Viewer, workspace: WorkspaceState): WorkspaceView {
  const { name, botCode, flowNs, apiKey, flowApiKey, mayManageFlow, flow, customFlow } = workspace;
  const secret = (value: string): string => (reveal ? value : MASK);
  const url = (value: string): string => (reveal ? value : hideQuery(value));
  const configuration = readConfiguration(workspace);
  const registration = configuration && {
    ...configuration,
    webhook_url: url(configuration.webhook_url),
    webhook_verification_key: secret(configuration.webhook_verification_key),
  };
  return {
    name,
    baseUrl: url(baseUrlOf(state, workspace)),
    botUrl: botUrlOf(workspace),
    botCode,
    flowNs,
    apiKey: secret(apiKey),
    flowApiKey: secret(flowApiKey),
    mayManageFlow,
    flow: typeof flow === "function" ? "custom" : flow,
    flows: [...FLOW_NAMES, ...(customFlow === undefined ? [] : ["custom"])],
    registration,
  };
}

export function viewConversation({
  messages,
  queue: _queue,
  ...conversation
}: Conversation): ConversationView {
  return { ...conversation, messageCount: messages.length };
}

/** Calls the listener with each event from now on. Returns a function that unsubscribes it. */
export function subscribeTo(viewer: Viewer, listener: (event: EmulatorEvent) => void): () => void {
  return viewer.state.changes.subscribe((change) => {
    try {
      listener(toEvent(viewer, change));
    } catch (error) {
      // Even if a listener has a bug, the request that caused the event must succeed.
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  });
}

function toEvent(viewer: Viewer, change: Change): EmulatorEvent {
  const { type } = change;
  if (type === "workspace") return { type, workspace: viewWorkspace(viewer, change.workspace) };
  if (type === "conversation") return { type, conversation: viewConversation(change.conversation) };
  if (type === "message") return { type, message: { ...change.message } };
  if (type === "handshake") return { type, handshake: viewRecord(viewer, change.handshake) };
  if (type === "delivery") return { type, delivery: viewRecord(viewer, change.delivery) };
  if (type === "request") return { type, request: viewRecord(viewer, change.request) };
  return change;
}

/**
 * Masks secret headers and fields, and the workspace's keys wherever they occur, because an endpoint may
 * echo them.
 */
function maskRecord<Shown extends { workspace: string | null }>(
  record: Shown,
  { directory, settings: { flowKey } }: EmulatorState,
): Shown {
  const workspace = directory.get(record.workspace ?? "");
  const redact = workspace === undefined ? undefined : redactorOf(workspace);
  // The header of the flow API key is masked even if the key is wrong.
  const keyHeader = typeof flowKey === "object" ? flowKey.header.toLowerCase() : "authorization";
  const mask = (field: string, value: unknown): unknown => {
    if (typeof value === "object") {
      return field === "headers" ? maskHeaders(value as HttpMessage["headers"] | null, keyHeader) : value;
    }
    if (typeof value !== "string") return value;
    if (field === "url") return hideQuery(value);
    return maskNamed(redact?.(value) ?? value);
  };
  return JSON.parse(JSON.stringify(record, mask)) as Shown;
}

/** Keeps each workspace's last redactor, because creating one takes much longer than masking a record. */
const redactors = new WeakMap<WorkspaceState, { secrets: string; redact: Redact }>();

function redactorOf(workspace: WorkspaceState): Redact {
  const { webhook_verification_key = "", webhook_url = "" } = currentRegistration(workspace) ?? {};
  const keys = [workspace.apiKey, workspace.flowApiKey, webhook_verification_key];
  const telling = keys.filter((key) => key.length >= SECRET_CHARACTERS);
  const all = [...telling, ...secretsOfUrl(webhook_url)];
  const secrets = JSON.stringify(all);
  const last = redactors.get(workspace);
  if (last?.secrets === secrets) return last.redact;
  const redact = createRedactor(all);
  redactors.set(workspace, { secrets, redact });
  return redact;
}

const SECRET_HEADER = /authorization|cookie|token|secret|signature|api[-_]?key/i;

function maskHeaders(headers: HttpMessage["headers"] | null, keyHeader: string): HttpMessage["headers"] {
  const masked = Object.entries(headers ?? {}).map(([name, value]) => {
    if (SECRET_HEADER.test(name) || name.toLowerCase() === keyHeader) return [name, MASK];
    return [name, name === "location" ? hideValues(value) : value];
  });
  return Object.fromEntries(masked) as HttpMessage["headers"];
}

/** Also matches a value whose end is missing because the body was cut. */
const SECRET_FIELD =
  /"(ChaveApi|webhook_verification_key|hub_verify_token)"(\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s,}\]]+)/g;
const SECRET_PARAMETER = /(^|[&?])(ChaveApi|webhook_verification_key|hub_verify_token)=[^&\s"]*/g;
const SECRET_PART = /(name="hub_verify_token"\r\n\r\n)[^\r\n]*/g;
const URL_FIELD = /"(webhook_url)"(\s*:\s*)"((?:[^"\\]|\\.)*)"/g;

/** Masks secret fields by their names, in JSON or any form encoding, even if a key is wrong. */
const maskNamed = (text: string): string =>
  text
    .replace(SECRET_FIELD, `"$1"$2"${MASK}"`)
    .replace(SECRET_PARAMETER, `$1$2=${MASK}`)
    .replace(SECRET_PART, `$1${MASK}`)
    // The URL is still JSON-escaped, so it cannot be parsed: hide the values after the question mark.
    .replace(
      URL_FIELD,
      (_, name: string, colon: string, url: string) =>
        `"${name}"${colon}"${url.replace(/\?.*$/s, hideValues)}"`,
    );

const hideValues = (query: string): string => query.replace(/=[^&#]*/g, "=***");
