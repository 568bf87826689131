import type { ServerResponse } from "node:http";
import { vi, expect } from "vitest";
import type { Emulator, EmulatorOptions, Workspace } from "../../../provider/emulator/index.js";
import { createResponder } from "../../../provider/responder/index.js";
import type { OutboundMessage } from "../../../schema/index.js";
import { answerChallenge, set, startAcme, startEndpoint, verificationKey, type Received } from "./harness.js";
import { sendTo } from "./messages-harness.js";

export interface Scene {
  emulator: Emulator;
  acme: Workspace;
  /** What came to the webhook URL, without the handshake. */
  deliveries: () => Received[];
  /** The texts of those that came whole. */
  texts: () => string[];
}

/** A registered workspace, with an endpoint that answers deliveries as told; it takes them if nothing is told. */
export async function startScene(
  options: EmulatorOptions = {},
  respond: (delivery: Received, response: ServerResponse) => unknown = (_, response) => response.end(),
): Promise<Scene> {
  const { emulator, acme } = await startAcme(options);
  const { url, received } = await startEndpoint((request, response) =>
    isDelivery(request) ? respond(request, response) : answerChallenge(request, response),
  );
  await set(acme, url);
  const deliveries = (): Received[] => received.filter(isDelivery);
  const texts = (): string[] => deliveries().map(({ body }) => (JSON.parse(body) as { text: string }).text);
  return { emulator, acme, deliveries, texts };
}

function isDelivery({ headers }: Received): boolean {
  return headers["x-action"] === "messages";
}

/** The status that this package's own responder gives a delivery with the key of the registration. */
export async function judge(delivery: Received | undefined, key = verificationKey): Promise<number> {
  const respond = createResponder({ verificationKeys: key, onDelivery: () => undefined });
  const headers = Object.entries(delivery?.headers ?? {}).map(([name, value]) => [name, String(value)]);
  const request = new Request("http://endpoint/webhook", {
    method: "POST",
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: delivery?.body ?? "",
  });
  return (await respond(request)).status;
}

export function outbound(text: string, conversation = 1): OutboundMessage {
  return {
    sender_id: "contact-1",
    conv_id: conversation,
    type: "text",
    message_type: "outgoing",
    private: false,
    text,
  };
}

const common = {
  message_type: "incoming",
  sender: { id: "contact-1", name: "Ana", type: "contact" },
  conversation_id: 1,
};

/** Sends a contact's message; it must be taken. */
export async function say(acme: Workspace, content: string, conversation = 1): Promise<void> {
  const message = { ...common, conversation_id: conversation, event: "message_created", content };
  const answer = await sendTo(acme, message);
  expect(answer.status).toBe(200);
}

/** Presses a button. */
export async function press(acme: Workspace, title: string, payload: string): Promise<void> {
  const submitted_values = [{ title, payload }];
  const answer = await sendTo(acme, {
    ...common,
    event: "message_postback",
    content: title,
    submitted_values,
  });
  expect(answer.status).toBe(200);
}

/** Sends an attachment. */
export async function attach(acme: Workspace, file_type: string, data_url: string): Promise<void> {
  const attachments = [{ file_type, data_url }];
  const answer = await sendTo(acme, { ...common, event: "message_created", content: "", attachments });
  expect(answer.status).toBe(200);
}

/** Waits until so many deliveries have come. */
export async function waitForDeliveries({ deliveries }: Scene, count: number): Promise<Received[]> {
  await vi.waitFor(() => expect(deliveries()).toHaveLength(count), { timeout: 10_000 });
  return deliveries();
}
