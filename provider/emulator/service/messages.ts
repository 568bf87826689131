import type * as z from "zod";
import { type InboundButtonMessage, type InboundMessage, inboundShapes } from "../../../schema/inbound.js";
import { inboundKindOf } from "../../../schema/message-kind.js";
import { addMessage, getOrCreateConversation } from "../conversations.js";
import {
  bearerOf,
  HttpError,
  isSameKey,
  parseBody,
  readObject,
  rejectFields,
  rejectKey,
} from "../request-checks.js";
import { runFlow } from "../flows/run-flow.js";
import type { EmulatorState, MessageRecord, WorkspaceState } from "../state.js";
import type { Reading } from "../open-point-options.js";
import { toJson, type HttpRequest, type HttpResponse, type Identify } from "./exchange.js";

/** Identifies a message to `bot_url` (section 4.2): checks its address, method and key, and then its body. */
export const identifyMessage: Identify = (state, request, record, text) => {
  const workspace = findBot(state, request.address);
  record.workspace = workspace.name;
  if (request.method !== "POST") throw new HttpError(405, "use POST", { headers: { allow: "POST" } });
  record.operation = "message";
  const body = readAuthorized(workspace, request.headers, text, state.settings.flowKey);
  return { operation: "message", workspace, perform: () => acceptMessage(state, workspace, body) };
};

function findBot({ directory }: EmulatorState, { pathname }: URL): WorkspaceState {
  const code = /^\/api\/apichat\/([^/]+)$/.exec(pathname)?.[1];
  const workspace = [...directory.values()].find(({ botCode }) => botCode === code);
  if (workspace) return workspace;
  throw new HttpError(404, "there is no bot at this address");
}

/** Checks the key before it reports anything about the body. Returns the body without the key. */
function readAuthorized(
  workspace: WorkspaceState,
  headers: HttpRequest["headers"],
  text: string,
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
    throw rejectKey(`the flow API key (${where}) is missing or wrong`);
  }
  if (workspace.mayManageFlow) return;
  throw new HttpError(403, 'the flow API key lacks the permission "Gerenciar Fluxo"');
}

/** Adds a message to its conversation before the response is sent. The flow replies afterwards. */
function acceptMessage(state: EmulatorState, workspace: WorkspaceState, body: object): HttpResponse {
  const message = readMessage(body, state.settings.senderFields);
  const { sender, conversation_id: conversationId } = message;
  const party = { contactId: sender.id, contactName: sender.name, conversationId };
  const place = getOrCreateConversation(state, workspace, party);
  const accepted = addMessage(place, { from: "contact", body: message });
  void runFlow({ ...place, message: accepted });
  return acknowledge[state.settings.messageResponse](accepted);
}

const acknowledge: Record<Reading<"messageResponse">, (message: MessageRecord) => HttpResponse> = {
  ok: () => toJson(200, { status: "ok" }),
  created: ({ id }) => toJson(201, { id }),
  empty: () => ({ status: 204, body: "" }),
};

/** Parses a message of one of the six operations (section 4.2). Throws a 422 that names the wrong fields. */
function readMessage(body: object, senderFields: Reading<"senderFields">): InboundMessage {
  const message = parseBody(shapeOf(body), body);
  if (senderFields === "required") assertSenderIsWhole(message);
  if ("submitted_values" in message) assertContentIsTitle(message);
  return message;
}

/** Returns the schema of the operation: only the body distinguishes the six operations. */
function shapeOf(body: object): z.ZodType<InboundMessage> {
  const kind = inboundKindOf(body);
  if (kind !== undefined) return inboundShapes[kind];
  const { event, attachments } = body as { event?: unknown; attachments?: unknown };
  if (event !== "message_created") {
    throw rejectFields({ event: ['must be "message_created" or "message_postback"'] });
  }
  const first: unknown = Array.isArray(attachments) ? attachments[0] : undefined;
  // Without a first entry, all four media schemas report the same problems.
  if (typeof first !== "object" || first === null) return inboundShapes.image;
  throw rejectFields({ "attachments.0.file_type": ['must be "image", "audio", "video" or "file"'] });
}

function assertSenderIsWhole({ sender }: InboundMessage): void {
  const missing = (["email", "phone_number"] as const).filter((field) => sender[field] === undefined);
  if (missing.length === 0) return;
  throw rejectFields(
    Object.fromEntries(missing.map((field) => [`sender.${field}`, ["is missing; must be a string"]])),
  );
}

/** If a button was pressed, `content` and `submitted_values` contain the same title (sections 2.3 and 4.2). */
function assertContentIsTitle({ content, submitted_values: [{ title }] }: InboundButtonMessage): void {
  if (content === title) return;
  throw rejectFields({ content: ["must be the title of the button, as in submitted_values.0.title"] });
}
