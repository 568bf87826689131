import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { Agent } from "undici";
import {
  ApiChatError,
  MessageClient,
  RegistrationClient,
  type CallOptions,
  type MessageClientOptions,
  type RegistrationClientOptions,
} from "../../../provider/client/index.js";
import type { InboundMessage } from "../../../schema/inbound.js";
import { afterTests } from "../../support/http.js";

/** Secrets with special characters, so that each encoding of them looks different. */
export const API_KEY = "ak/system+test=&<secret>\"ü'-0123456789";
export const VERIFICATION_KEY = "vk/acme+test=&<secret>\"ü'-0123456789";
export const FLOW_KEY = "fk/system+test=&<secret>'-0123456789";

export const REGISTERED = {
  webhook_url: "https://chat.acme.example/webhooks/apichat",
  webhook_verification_key: VERIFICATION_KEY,
  webhook_status: "verified",
  bot_url: "https://bots.example/api/apichat/f1",
};

export const answerOk = (response: ServerResponse, data: unknown = REGISTERED): void =>
  void response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ status: "ok", data }));

/** Returns a separate connection pool, closed after the tests. */
export function createAgent(options: Agent.Options = {}): Agent {
  const agent = new Agent(options);
  // `destroy` is not awaited, because it would wait for connection attempts that never end.
  afterTests(() => void agent.destroy());
  return agent;
}

/** Creates a client with its own connections. */
export function createTestClient(
  baseUrl: string,
  options: Partial<RegistrationClientOptions> = {},
): RegistrationClient {
  const dispatcher = options.dispatcher ?? createAgent();
  return new RegistrationClient({ baseUrl, apiKey: API_KEY, requestSeconds: 3, ...options, dispatcher });
}

/** Creates a client with its own connections, for a bot at this origin. */
export function createTestMessageClient(
  origin: string,
  options: Partial<MessageClientOptions> = {},
): MessageClient {
  const dispatcher = options.dispatcher ?? createAgent();
  const botUrl = `${origin}/api/apichat/f1`;
  return new MessageClient({ botUrl, flowApiKey: FLOW_KEY, requestSeconds: 3, ...options, dispatcher });
}

const ANA = { id: "contact-42", name: "Ana Beatriz" };

/** The options that every message has, whatever its kind. */
export const TO = { sender: ANA, conversationId: 7 };

export const textOf = (conversation: number, content: string, id = ANA.id): InboundMessage => ({
  content,
  message_type: "incoming",
  sender: { id, name: "Ana", type: "contact" },
  conversation_id: conversation,
  event: "message_created",
});

/** One call of each client, for behaviour that both share. */
export const CALLS: [
  "get-webhook" | "message",
  (origin: string, options?: Partial<RegistrationClientOptions>, call?: CallOptions) => Promise<unknown>,
][] = [
  ["get-webhook", (origin, options, call) => createTestClient(origin, options).getWebhook(call)],
  [
    "message",
    (origin, options, call) => createTestMessageClient(origin, options).send(textOf(7, "hi"), call),
  ],
];

/** Returns the ApiChatError of a failed call. Throws if the call succeeds or fails differently. */
export async function failureOf(call: Promise<unknown>): Promise<ApiChatError> {
  const outcome: unknown = await call.then(
    (value) => new Error(`the call succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof ApiChatError) return outcome;
  throw outcome;
}

/** Every string that a program, a log or a crash reporter may read from an error. */
export const textsOf = (error: ApiChatError): string =>
  [
    error.message,
    error.stack,
    JSON.stringify(error),
    inspect(error, { depth: Infinity, showHidden: true }),
  ].join("\n");
