import { expect, onTestFinished } from "vitest";
import {
  startEmulator,
  type Emulator,
  type EmulatorOptions,
  type Workspace,
} from "../../../provider/emulator/index.js";
import { createApi } from "../../../provider/emulator/control/routes.js";
import type { EmulatorState } from "../../../provider/emulator/state.js";
import { createResponder } from "../../../provider/responder/index.js";
import type { InboundMessage, InboundTextMessage, OutboundText } from "../../../schema/index.js";
import samples from "../../../schema/samples.json" with { type: "json" };
import { startServer, type Answer as Respond, type Received } from "../../support/http.js";
import { expectRecordsMatchOpenApi } from "../../support/openapi.js";
import { answerAnyToken } from "../diagnosis/harness.js";

export type { Received } from "../../support/http.js";

export const apiKey = "test-api-key-0123456789";
export const verificationKey = "verification-key-0123456789";
export const token = "control-token-0123456789";

export type Reading<Name extends keyof EmulatorOptions> = NonNullable<EmulatorOptions[Name]>;

export const text = samples.InboundTextMessage;

/** A valid body for each of the six operations in section 4.2 of the specification. */
export const operations = {
  "send text message": text,
  "send button payload": samples.InboundButtonMessage,
  "send image": samples.InboundImageMessage,
  "send audio": samples.InboundAudioMessage,
  "send video": samples.InboundVideoMessage,
  "send file": samples.InboundFileMessage,
} as const;

/** A message from an agent or a flow, in this conversation. */
export function outbound(content: string, conversation = 1): OutboundText {
  const addressed = { sender_id: "contact-1", conv_id: conversation };
  return { ...addressed, type: "text", message_type: "outgoing", private: false, text: content };
}

/** A message from a contact, in this conversation. */
export function inbound(content: string, conversation = 1): InboundTextMessage {
  const sender = { id: "contact-1", name: "Ana", type: "contact" } as const;
  const common = { message_type: "incoming", sender, conversation_id: conversation } as const;
  return { ...common, event: "message_created", content };
}

/** Matches the error for a wrong call, if the error's message contains this text. */
export const refused = (message: string, code = "invalid_config"): unknown =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });

/** Serves a webhook URL on a real socket. By default it returns a handshake's challenge, whatever the encoding. */
export async function startEndpoint(respond: Respond = answerAnyToken) {
  const { url, requests } = await startServer(respond);
  return { url: `${url}/webhook`, received: requests };
}

/**
 * Starts an endpoint that leaves requests unanswered. When the first request arrives, `asked` resolves to a
 * function that answers the request.
 */
export async function startHeldEndpoint() {
  const { promise: asked, resolve } = Promise.withResolvers<() => void>();
  const endpoint = await startEndpoint((...exchange) => resolve(() => answerAnyToken(...exchange)));
  return { ...endpoint, asked };
}

/**
 * Starts an emulator with the workspace `acme`. At the end of the test, all of the emulator's responses
 * must match schema/openapi.json.
 */
export async function startAcme(options: EmulatorOptions = {}) {
  const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey }], ...options });
  onTestFinished(async () => {
    await emulator.close();
    expectRecordsMatchOpenApi(emulator.requests, options);
  });
  return { emulator, acme: emulator.workspace("acme") };
}

/** {@link startAcme} with a flow that never replies. */
export const startSilent = (options: EmulatorOptions = {}) => startAcme({ flow: "silent", ...options });

export type Scene = Awaited<ReturnType<typeof startScene>>;

/** A secret in the query of a scene's webhook URL. */
export const QUERY_VALUE = "query-value-0123456789";

/** Starts a workspace with a registered endpoint. `respond` answers its deliveries, by default with 200. */
export async function startScene(
  options: EmulatorOptions = {},
  respond: Respond = (_, response) => response.end(),
) {
  const { emulator, acme } = await startAcme(options);
  const endpoint = await startEndpoint((...exchange) =>
    (isDelivery(exchange[0]) ? respond : answerAnyToken)(...exchange),
  );
  await set(acme, `${endpoint.url}?secret=${QUERY_VALUE}`);
  /** The requests to the webhook URL, except handshakes. */
  const deliveries = (): Received[] => endpoint.received.filter(isDelivery);
  /** The texts of the deliveries. */
  const texts = (): string[] => deliveries().map(({ body }) => (JSON.parse(body) as { text: string }).text);
  return { emulator, acme, endpoint, deliveries, texts };
}

const isDelivery = ({ headers }: Received): boolean => headers["x-action"] === "messages";

/** Responds to deliveries with these statuses in order, and then with 200; 0 means no response. */
export function answering(...statuses: number[]): Respond {
  return (_, response) => {
    const status = statuses.shift() ?? 200;
    if (status !== 0) response.writeHead(status).end("taken");
  };
}

/** Waits until this many deliveries have arrived. */
export async function waitForDeliveries({ deliveries }: Scene, count: number): Promise<Received[]> {
  await expect.poll(deliveries).toHaveLength(count);
  return deliveries();
}

/** Passes a delivery to this package's own responder with this key, and returns the response's status. */
export async function judge(delivery: Received | undefined, key = verificationKey): Promise<number> {
  const respond = createResponder({ verificationKeys: key, onDelivery: () => undefined });
  const { headers = {}, body = "" } = delivery ?? {};
  const request = { method: "POST", headers: headers as Record<string, string>, body };
  return (await respond(new Request("http://endpoint/webhook", request))).status;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined if it is not JSON. */
  body: unknown;
}

async function sendRequest(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const { status, headers } = response;
  const content = await response.text();
  return { status, headers, text: content, body: parseOrNothing(content) };
}

function parseOrNothing(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

export const post = (url: string, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  sendRequest(url, { method: "POST", body, headers });

/** POSTs to the registration interface, with the action in the query and everything else in the body. */
export async function call(workspace: Workspace, action: string, fields: object = {}): Promise<Answer> {
  return post(addressOf(workspace, action), JSON.stringify({ ChaveApi: workspace.apiKey, ...fields }));
}

export function addressOf({ baseUrl }: Workspace, action: string): string {
  return `${baseUrl}${baseUrl.includes("?") ? "&" : "?"}action=${action}`;
}

/** Calls set-webhook with an endpoint's URL. */
export function set(workspace: Workspace, url: string, key = verificationKey): Promise<Answer> {
  return call(workspace, "set-webhook", { webhook_url: url, webhook_verification_key: key });
}

/** POSTs a message to `bot_url` with the flow API key as a bearer token, unless `sent` has other headers. */
export function sendTo(
  { botUrl, flowApiKey }: Workspace,
  message: unknown,
  { url = botUrl, ...sent }: RequestInit & { url?: string } = {},
): Promise<Answer> {
  const { method = "POST", headers = { authorization: `Bearer ${flowApiKey}` } } = sent;
  const body = method === "GET" || method === "HEAD" ? null : (sent.body ?? JSON.stringify(message));
  return sendRequest(url, { method, headers, body });
}

/** Sends a contact's message, which must be accepted. */
export async function say(acme: Workspace, content: string, conversation = 1): Promise<void> {
  expect(await acme.send(inbound(content, conversation))).toMatchObject({ status: 200 });
}

/** The message that a contact sends by pressing a button. */
export const pressed = (title: string, payload: string): InboundMessage => ({
  ...inbound(title),
  event: "message_postback",
  submitted_values: [{ title, payload }],
});

/** All messages from a workspace's contacts, in order. */
export const received = ({ conversations }: Workspace): unknown[] =>
  conversations.flatMap(({ messages }) =>
    messages.filter(({ from }) => from === "contact").map(({ body }) => body),
  );

/** Every route of the control API, such as `GET /_emulator/workspaces/{name}`. */
export const CONTROL_ROUTES = createApi({} as EmulatorState)
  // A route whose method is ALL is middleware.
  .routes.filter(({ method }) => method !== "ALL")
  .map(({ method, path }) => `${method} /_emulator${path.replace(/:(\w+)/, "{$1}")}`);

/** Calls the control API: `control(emulator, "POST /_emulator/reset", { workspaces: true })`. */
export function control(
  { url }: Pick<Emulator, "url">,
  route: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const [method = "", path = ""] = route.split(" ");
  if (body === undefined) return sendRequest(url + path, { method, headers });
  const ofJson = { "content-type": "application/json", ...headers };
  return sendRequest(url + path, { method, headers: ofJson, body: JSON.stringify(body) });
}
