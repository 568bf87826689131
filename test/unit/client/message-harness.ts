import { MessageClient, type MessageClientOptions } from "../../../provider/client/index.js";
import type { InboundMessage } from "../../../schema/inbound.js";
import { createAgent } from "./harness.js";

export const FLOW_KEY = "fk/system+test=&<secret>'-0123456789";

const ANA = { id: "contact-42", name: "Ana Beatriz" };

/** A call's options, to which its own are added. */
export const TO = { sender: ANA, conversationId: 7 };

/** A client with connections of its own, closed after the tests. */
export function createTestMessageClient(
  origin: string,
  options: Partial<MessageClientOptions> = {},
): MessageClient {
  const dispatcher = options.dispatcher ?? createAgent();
  const botUrl = `${origin}/api/apichat/f1`;
  return new MessageClient({ botUrl, flowApiKey: FLOW_KEY, requestSeconds: 3, ...options, dispatcher });
}

export const textOf = (conversation: number, content: string, id = ANA.id): InboundMessage => ({
  content,
  message_type: "incoming",
  sender: { id, name: "Ana", type: "contact" },
  conversation_id: conversation,
  event: "message_created",
});
