import type { InboundMessage } from "../../schema/index.js";
import { addMessage, conversationOf } from "./conversations.js";
import type { EmulatorState } from "./emulator-state.js";
import { answerRefusals } from "./error-shape.js";
import { answerStruck } from "./fault-answer.js";
import { takeFault } from "./faults.js";
import { answerMessage } from "./flows/run-flow.js";
import { answerJson, type HttpAnswer, type HttpRequest } from "./http-server.js";
import { readMessage } from "./message-shape.js";
import { bearerOf, isSameKey } from "./presented-key.js";
import { countWithinRate } from "./rate-limit.js";
import { answerRecorded } from "./recorder.js";
import type { MessageRecord, RecordedRequest } from "./records.js";
import { Refusal } from "./refusal.js";
import { readObject } from "./request-body.js";
import type { FlowKey, MessageAnswer } from "./switches.js";
import { workspaceOfBot } from "./workspace-directory.js";
import type { WorkspaceState } from "./workspace-state.js";

/** Answers one request to the bot host (section 4.2) and records it. */
export function answerBot(state: EmulatorState, request: HttpRequest): Promise<HttpAnswer> {
  const { errorShape } = state.settings;
  return answerRecorded(state, "bot", request, (record) =>
    answerRefusals(errorShape, () => {
      const workspace = findBot(state, request, record);
      const body = readBodyOfSender(workspace, request, record.body, state.settings.flowKey);
      countWithinRate(workspace, state.settings.requestsPerSecond);
      record.fault = takeFault(state, "message", workspace.name);
      const take = (): Promise<HttpAnswer> =>
        answerRefusals(errorShape, () => Promise.resolve(takeMessage(state, workspace, body, record)));
      return answerStruck(record.fault, take, state.outgoing.closing);
    }),
  );
}

function findBot(
  state: EmulatorState,
  { address, method }: HttpRequest,
  record: RecordedRequest,
): WorkspaceState {
  const botCode = /^\/api\/apichat\/([^/]+)$/.exec(address.pathname)?.[1];
  const workspace = botCode === undefined ? undefined : workspaceOfBot(state.directory, botCode);
  if (workspace === undefined) throw new Refusal(404, "there is no bot at this address");
  record.workspace = workspace.name;
  if (method !== "POST") throw new Refusal(405, "use POST", { headers: { allow: "POST" } });
  return workspace;
}

/** The body, without the key if that stands in it. Who presents no right key learns nothing of the body. */
function readBodyOfSender(
  workspace: WorkspaceState,
  { headers, body: text }: HttpRequest,
  parsed: unknown,
  flowKey: FlowKey,
): object {
  if (flowKey === "body") {
    const { ChaveApi, ...body } = readObject(text, parsed) as { ChaveApi?: unknown };
    assertMaySend(workspace, ChaveApi, "ChaveApi");
    return body;
  }
  if (flowKey === "bearer") assertMaySend(workspace, bearerOf(headers), "Authorization: Bearer");
  if (flowKey === "raw") assertMaySend(workspace, headers.authorization, "Authorization");
  return readObject(text, parsed);
}

function assertMaySend(workspace: WorkspaceState, presented: unknown, where: string): void {
  if (!isSameKey(presented, workspace.flowApiKey)) {
    // Every 401 of HTTP names a scheme.
    const headers = { "www-authenticate": "Bearer" };
    throw new Refusal(401, `the flow API key (${where}) is missing or wrong`, { headers });
  }
  if (workspace.mayManageFlow) return;
  throw new Refusal(403, 'the flow API key lacks the permission "Gerenciar Fluxo"');
}

/** Takes a message: it is in its conversation before the answer goes out. The flow answers it afterwards. */
function takeMessage(
  state: EmulatorState,
  workspace: WorkspaceState,
  body: object,
  record: RecordedRequest,
): HttpAnswer {
  const message = readMessage(body, state.settings.senderFields);
  const conversation = conversationOf(state, workspace, partyOf(message));
  const taken = addMessage(state, conversation, { from: "contact", body: message, unanswered: true });
  record.conversation = conversation.id;
  // It never rejects, and nobody waits for what a flow replies: that is delivered.
  void answerMessage(state, workspace, conversation, taken);
  return acknowledge[state.settings.messageAnswer](taken);
}

function partyOf({ sender, conversation_id }: InboundMessage): Parameters<typeof conversationOf>[2] {
  return { contactId: sender.id, contactName: sender.name, conversationId: conversation_id };
}

const acknowledge: Record<MessageAnswer, (message: MessageRecord) => HttpAnswer> = {
  ok: () => answerJson(200, { status: "ok" }),
  created: ({ id }) => answerJson(201, { id }),
  empty: () => ({ status: 204, body: "" }),
};
