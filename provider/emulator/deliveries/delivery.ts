import type { OutboundMessage } from "../../../schema/index.js";
import { invalidOption } from "../check-options.js";
import { addMessage, conversationOf, type Conversation } from "../conversations.js";
import { nextRecord, type EmulatorState } from "../emulator-state.js";
import { answerMessage } from "../flows/run-flow.js";
import type { DeliveryRecord } from "../records.js";
import { deliverableRegistration, type WorkspaceState } from "../workspace-state.js";
import { encodeMessage, encodeText } from "./body.js";
import { performDelivery, type DeliveryJob } from "./perform.js";
import { recordCopy, recordDelivery } from "./record.js";
import type { TurnEnd } from "./turns.js";

export interface DeliveryOptions {
  /** Time limit of one try. Default: `deliveryTimeoutMs` of the emulator. */
  timeoutMs?: number;
  /** Sent as `X-Hub-Signature-256` in place of the right signature. */
  signature?: string;
  /** The exact bytes to sign and send, in place of the message as JSON. */
  body?: string | Uint8Array;
}

/**
 * Signs a message and posts it to the registered URL (section 6.2), in order within its conversation, where it stands as the
 * flow's. Resolves when it is through: a webhook that does not take it is a verdict, not an error, and so is the emulator's end.
 * Throws `invalid_config` if no webhook takes deliveries.
 */
export async function deliverMessage(
  state: EmulatorState,
  workspace: WorkspaceState,
  message: OutboundMessage,
  { body, ...options }: DeliveryOptions = {},
): Promise<DeliveryRecord> {
  const registration = deliverableRegistration(workspace, state.settings);
  if (!registration) throw invalidOption(`deliver: workspace "${workspace.name}" has no verified webhook`);
  const conversation = conversationOf(state, workspace, {
    contactId: message.sender_id,
    conversationId: message.conv_id,
  });
  const sent = bytesOf(body) ?? encodeMessage(message, state.settings.deliveryEncoding);
  const numbered = nextRecord(state, "delivery");
  addMessage(state, conversation, { from: "flow", body: message, delivery: numbered.id });
  const known = {
    conversation: conversation.id,
    message,
    url: registration.webhook_url,
    sent,
    dueAt: new Date(),
  };
  const delivery = recordDelivery(state, workspace, known, numbered);
  await queueDelivery({ state, workspace, conversation, delivery, ...options });
  return delivery.verdict === "pending" ? { ...delivery, ...endedByClose } : delivery;
}

/** For who waits for it; the record stays pending, and a restart goes on with it. */
const endedByClose = { verdict: "failed", reason: "the emulator was closed" } as const;

function bytesOf(body: string | Uint8Array | undefined): Uint8Array | undefined {
  return typeof body === "string" ? encodeText(body) : body;
}

/** Queues a delivery behind those of its conversation. Resolves when it is through, or the emulator closes; never rejects. */
export function queueDelivery(job: DeliveryJob): Promise<DeliveryRecord> {
  const { promise, resolve } = Promise.withResolvers<DeliveryRecord>();
  const { turns } = job.conversation;
  turns.lastDueMs = Math.max(turns.lastDueMs, job.delivery.dueAt.getTime());
  turns.deliver(async (overtakes) => {
    let end: TurnEnd = "through";
    try {
      end = await performDelivery(job, overtakes);
      return end;
    } finally {
      if (end === "through") resolve(job.delivery);
    }
  }, job.state.outgoing.closing);
  return promise;
}

/** How a delivery is sent again. */
interface ResendOptions {
  /** Signs it with the key that is registered now, in place of the signature that it had. */
  sign?: boolean;
  /** Sent in place of its bytes. */
  body?: string | undefined;
}

/**
 * Sends the bytes of a delivery again, with the same headers and signature unless the options change them, behind the other
 * deliveries of its conversation, to the URL that is registered now. The record given back is pending. Throws `invalid_config`
 * if no webhook takes deliveries, there is no signature to repeat yet, or its conversation is no longer there.
 */
export function resendDelivery(
  state: EmulatorState,
  workspace: WorkspaceState,
  delivery: DeliveryRecord,
  { sign = false, body }: ResendOptions = {},
): DeliveryRecord {
  const conversation = findConversation(workspace, delivery.conversation);
  if (!conversation) throw invalidOption(`resend: the conversation of delivery ${delivery.id} is gone`);
  const headers = sign ? {} : delivery.headers;
  if (!sign && Object.keys(headers).length === 0) {
    throw invalidOption(`resend: delivery ${delivery.id} was not sent yet, so it has no signature to repeat`);
  }
  if (!deliverableRegistration(workspace, state.settings)) {
    throw invalidOption(`resend: workspace "${workspace.name}" has no verified webhook`);
  }
  const copy = recordCopy(state, workspace, { ...delivery, headers, sent: bytesOf(body) ?? delivery.sent });
  void queueDelivery({ state, workspace, conversation, delivery: copy });
  return copy;
}

function findConversation(workspace: WorkspaceState, id: string | undefined): Conversation | undefined {
  return [...workspace.conversations.values()].find((conversation) => conversation.id === id);
}

/**
 * After a restart: goes on with the deliveries that are pending, and has the flows answer the messages that none has answered.
 * A delivery that the endpoint took just before the end is sent again: its answer was not seen.
 */
export function resumeDeliveries(state: EmulatorState): void {
  for (const workspace of state.directory.values()) {
    const conversations = new Map([...workspace.conversations.values()].map((each) => [each.id, each]));
    for (const delivery of workspace.deliveries) {
      const conversation = conversations.get(delivery.conversation ?? "");
      if (!conversation || delivery.verdict !== "pending") continue;
      void queueDelivery({ state, workspace, conversation, delivery });
    }
    for (const conversation of conversations.values()) resumeAnswers(state, workspace, conversation);
  }
}

function resumeAnswers(state: EmulatorState, workspace: WorkspaceState, conversation: Conversation): void {
  for (const message of conversation.messages) {
    if (message.unanswered) void answerMessage(state, workspace, conversation, message);
  }
}
