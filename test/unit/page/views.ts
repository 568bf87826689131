import type {
  ConversationView,
  DeliveryView,
  HandshakeView,
  MessageView,
  RequestView,
  WorkspaceView,
} from "../../../provider/emulator/control/shapes.ts";

const at = "2026-11-21T10:00:00.000Z";
const http = { headers: {}, body: "" };
const ofConversation = { workspace: "acme", conversation: "c1" };
const common = { sender_id: "u-1", conv_id: 7, message_type: "outgoing", private: false } as const;
const reply = { ...common, type: "text", text: "hi" } as const;

/** An entry of the wire by its record. */
export const entryOf = {
  request: (given?: Partial<RequestView>) => ({ kind: "request", record: view.request(given) }) as const,
  handshake: (given?: Partial<HandshakeView>) =>
    ({ kind: "handshake", record: view.handshake(given) }) as const,
  delivery: (given?: Partial<DeliveryView>) => ({ kind: "delivery", record: view.delivery(given) }) as const,
};

/** Records as the control API gives them, for what a test says nothing of. */
export const view = {
  workspace: (given: Partial<WorkspaceView> = {}): WorkspaceView => ({
    name: "acme",
    baseUrl: "http://127.0.0.1:1/acme/apichat",
    botUrl: "http://127.0.0.1:2/api/apichat/bot",
    botCode: "bot",
    flowNs: "f1",
    apiKey: "****",
    flowApiKey: "****",
    mayManageFlow: true,
    flow: "echo",
    registration: null,
    ...given,
  }),
  conversation: (given: Partial<ConversationView> = {}): ConversationView => ({
    id: "c1",
    order: 1,
    workspace: "acme",
    contactId: "u-1",
    contactName: "Ana",
    conversationId: "7",
    messageCount: 1,
    lastAt: at,
    ...given,
  }),
  message: (given: Partial<MessageView> = {}): MessageView => ({
    id: "m1",
    order: 1,
    at,
    ...ofConversation,
    from: "flow",
    body: reply,
    delivery: null,
    unanswered: false,
    ...given,
  }),
  handshake: (given: Partial<HandshakeView> = {}): HandshakeView => ({
    id: "h1",
    order: 2,
    at,
    workspace: "acme",
    url: "http://localhost/hook",
    encoding: "form",
    challenge: "1",
    verdict: "passed",
    reason: "",
    request: http,
    response: { ...http, status: 200 },
    durationMs: 1,
    ...given,
  }),
  delivery: (given: Partial<DeliveryView> = {}): DeliveryView => ({
    id: "d1",
    order: 3,
    at,
    ...ofConversation,
    contactId: "u-1",
    conversationId: "7",
    message: reply,
    dueAt: at,
    url: "http://localhost/hook",
    request: { headers: {}, body: '{"type":"text","text":"hi"}' },
    signature: "right",
    verdict: "delivered",
    reason: "",
    attempts: [],
    resendOf: null,
    ...given,
  }),
  request: (given: Partial<RequestView> = {}): RequestView => ({
    id: "r1",
    order: 4,
    at,
    interface: "bot",
    workspace: "acme",
    operation: "message",
    conversation: "c1",
    method: "POST",
    url: "http://127.0.0.1:2/api/apichat/bot",
    request: { headers: {}, body: "{}" },
    response: { ...http, status: 200 },
    fault: "",
    durationMs: 1,
    ...given,
  }),
};
