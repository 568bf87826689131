import type * as z from "zod";
import { type InboundButtonMessage, type InboundMessage, inboundShapes } from "../../../schema/inbound.js";
import { inboundKindOf } from "../../../schema/message-kind.js";
import { addMessage, getOrCreateConversation } from "../conversations.js";
import { HttpError, refuseFields } from "../errors.js";
import { answerMessage } from "../flows/run-flow.js";
import type { EmulatorState, MessageRecord, RecordedRequest, WorkspaceState } from "../state.js";
import type { Reading } from "../switches.js";
import { bearerOf, isSameKey, parseBody, readObject, refuseKey } from "./checks.js";
import { answerRecorded, type Call } from "./exchange.js";
import { answerJson, type HttpResponse, type HttpRequest } from "./http.js";
import { presentFlowKey } from "../../client/options.js";
import { ApiChatError } from "../../errors/index.js";
import { LONGEST_TIMER_MS } from "../../lib/abort.js";
import { post } from "./outgoing.js";

/** Answers one request to the bot host (section 4.2) and records it. */
export function answerBot(state: EmulatorState, request: HttpRequest): Promise<HttpResponse> {
  return answerRecorded(state, "bot", request, (record) => identify(state, request, record));
}

/** The order of the checks: address, method, key, and only then the body. */
function identify(state: EmulatorState, request: HttpRequest, record: RecordedRequest): Call {
  const workspace = findBot(state, request.address);
  record.workspace = workspace.name;
  if (request.method !== "POST") throw new HttpError(405, "use POST", { headers: { allow: "POST" } });
  record.operation = "message";
  const body = readAuthorized(workspace, request, state.settings.flowKey);
  return { operation: "message", workspace, perform: () => takeMessage(state, workspace, body, record) };
}

function findBot({ directory }: EmulatorState, { pathname }: URL): WorkspaceState {
  const code = /^\/api\/apichat\/([^/]+)$/.exec(pathname)?.[1];
  const workspace = [...directory.values()].find(({ botCode }) => botCode === code);
  if (workspace) return workspace;
  throw new HttpError(404, "there is no bot at this address");
}

/** The body, without the key if that is in it. Who presents no right key learns nothing of the body. */
function readAuthorized(
  workspace: WorkspaceState,
  { headers, body: text }: HttpRequest,
  flowKey: Reading<"flowKey">,
): object {
  if (flowKey === "body") {
    const { ChaveApi, ...body } = readObject(text) as { ChaveApi?: unknown };
    assertMaySend(workspace, ChaveApi, "ChaveApi");
    return body;
  }
  if (flowKey === "bearer") assertMaySend(workspace, bearerOf(headers), "Authorization: Bearer");
  if (flowKey === "raw") assertMaySend(workspace, headers.authorization, "Authorization");
  if (typeof flowKey === "object") {
    const { header } = flowKey;
    assertMaySend(workspace, headers[header.toLowerCase()], header);
  }
  return readObject(text);
}

function assertMaySend(workspace: WorkspaceState, presented: unknown, where: string): void {
  if (!isSameKey(presented, workspace.flowApiKey)) {
    throw refuseKey(`the flow API key (${where}) is missing or wrong`);
  }
  if (workspace.mayManageFlow) return;
  throw new HttpError(403, 'the flow API key lacks the permission "Gerenciar Fluxo"');
}

/** Takes a message: it is in its conversation before the answer goes out. The flow answers it afterwards. */
function takeMessage(
  state: EmulatorState,
  workspace: WorkspaceState,
  body: object,
  record: RecordedRequest,
): HttpResponse {
  const message = readMessage(body, state.settings.senderFields);
  const { sender, conversation_id: conversationId } = message;
  const party = { contactId: sender.id, contactName: sender.name, conversationId };
  const conversation = getOrCreateConversation(state, workspace, party);
  const taken = addMessage(state, conversation, { from: "contact", body: message, unanswered: true });
  record.conversation = conversation.id;
  // It never rejects, and nobody waits for what a flow replies: that is delivered.
  void answerMessage({ state, workspace, conversation, message: taken });
  return acknowledge[state.settings.messageResponse](taken);
}

const acknowledge: Record<Reading<"messageResponse">, (message: MessageRecord) => HttpResponse> = {
  ok: () => answerJson(200, { status: "ok" }),
  created: ({ id }) => answerJson(201, { id }),
  empty: () => ({ status: 204, body: "" }),
};

/** A message of one of the six operations (section 4.2); else 422 naming the fields of the operation that was meant. */
function readMessage(body: object, senderFields: Reading<"senderFields">): InboundMessage {
  const message = parseBody(shapeOf(body), body);
  if (senderFields === "required") assertSenderIsWhole(message);
  if ("submitted_values" in message) assertContentIsTitle(message);
  return message;
}

/** The operations differ only by body. */
function shapeOf(body: object): z.ZodType<InboundMessage> {
  const kind = inboundKindOf(body);
  if (kind !== undefined) return inboundShapes[kind];
  const { event, attachments } = body as { event?: unknown; attachments?: unknown };
  if (event !== "message_created") {
    throw refuseFields({ event: ['must be "message_created" or "message_postback"'] });
  }
  const first: unknown = Array.isArray(attachments) ? attachments[0] : undefined;
  // Without a first entry any of the four says the same of the rest.
  if (typeof first !== "object" || first === null) return inboundShapes.image;
  throw refuseFields({ "attachments.0.file_type": ['must be "image", "audio", "video" or "file"'] });
}

function assertSenderIsWhole({ sender }: InboundMessage): void {
  const missing = (["email", "phone_number"] as const).filter((field) => sender[field] === undefined);
  if (missing.length === 0) return;
  throw refuseFields(
    Object.fromEntries(missing.map((field) => [`sender.${field}`, ["is missing; must be an empty text"]])),
  );
}

/** Of a press, `content` and the entry of `submitted_values` have the title of the same button (sections 2.3 and 4.2). */
function assertContentIsTitle({ content, submitted_values: [{ title }] }: InboundButtonMessage): void {
  if (content === title) return;
  throw refuseFields({ content: ["must be the title of the button, as in submitted_values.0.title"] });
}

/** What `bot_url` answered. */
export interface SentMessage {
  status: number;
  /** The value, if it is JSON, or else the text; undefined if it is empty. */
  body: unknown;
}

/**
 * Posts a message to the workspace's bot with its flow API key, as an external system would (section 4.2): a refusal is an
 * answer. Throws `unavailable` if the connection ends without one, as a fault can make it.
 */
export async function sendAsContact(
  { origins, outgoing, settings }: EmulatorState,
  { name, botCode, flowApiKey }: WorkspaceState,
  message: unknown,
): Promise<SentMessage> {
  const { flowKey } = settings;
  const { headers = {}, fields = {} } = flowKey === "none" ? {} : presentFlowKey(flowApiKey, flowKey);
  const isObject = typeof message === "object" && message !== null && !Array.isArray(message);
  const answer = await post(outgoing, {
    // Always to this emulator: a `bot_url` that was moved elsewhere must not get the key.
    url: `${origins.bot}/api/apichat/${botCode}`,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(isObject ? { ...message, ...fields } : message),
    timeoutMs: LONGEST_TIMER_MS,
  });
  if ("status" in answer) return { status: answer.status, body: parseOrKeep(answer.body) };
  const text = `message: the bot of workspace "${name}" gave no answer`;
  throw new ApiChatError("unavailable", text, { operation: "message" });
}

function parseOrKeep(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
