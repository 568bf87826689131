import type { InboundMessage, OutboundMessage } from "../../../schema/index.js";
import type { Fault } from "../faults.js";
import type {
  DeliveryAttempt,
  DeliveryRecord,
  HandshakeRecord,
  HttpReply,
  MessageRecord,
  RecordedRequest,
} from "../records.js";
import type { Mask } from "./mask.js";
import type {
  AttemptView,
  DeliveryView,
  HandshakeView,
  HttpView,
  MessageView,
  RequestView,
} from "./shapes.js";
import { maskFor, type Viewer } from "./workspace-views.js";

export function viewMessage({ id, order, at, body, delivery, ...message }: MessageRecord): MessageView {
  const { workspace, conversation, from } = message;
  return {
    id,
    order,
    at: at.toISOString(),
    workspace,
    conversation,
    from,
    body: withDigits(body),
    delivery: delivery ?? null,
  };
}

/** JSON has no bigint, and a number would lose digits. */
function withDigits(body: InboundMessage | OutboundMessage): InboundMessage | OutboundMessage {
  if (!("conv_id" in body) || typeof body.conv_id !== "bigint") return body;
  const shown: object = { ...body, conv_id: String(body.conv_id) };
  return shown as OutboundMessage;
}

export function viewHandshake(viewer: Viewer, handshake: HandshakeRecord): HandshakeView {
  const { id, order, at, workspace, url, encoding, verdict, reason, durationMs } = handshake;
  const mask = maskFor(viewer, workspace);
  return {
    id,
    order,
    at: at.toISOString(),
    workspace,
    url: mask.url(url),
    encoding,
    verdict,
    reason: mask.text(reason),
    sent: mask.part(handshake.sent),
    received: viewReply(mask, handshake.received),
    durationMs,
  };
}

export function viewDelivery(viewer: Viewer, delivery: DeliveryRecord): DeliveryView {
  const { id, order, at, workspace, conversation, url, headers, sent, signature, verdict, reason } = delivery;
  const mask = maskFor(viewer, workspace);
  return {
    id,
    order,
    at: at.toISOString(),
    workspace,
    conversation: conversation ?? null,
    url: mask.url(url),
    sent: mask.part({ headers, body: new TextDecoder().decode(sent) }),
    signature,
    verdict,
    reason: mask.text(reason),
    attempts: delivery.attempts.map((attempt) => viewAttempt(mask, attempt)),
    resendOf: delivery.resendOf ?? null,
  };
}

function viewAttempt(mask: Mask, { at, durationMs, received, reason, fault }: DeliveryAttempt): AttemptView {
  return {
    at: at.toISOString(),
    durationMs,
    received: viewReply(mask, received),
    reason: mask.text(reason),
    fault: viewStruck(fault),
  };
}

export function viewRequest(viewer: Viewer, request: RecordedRequest): RequestView {
  const { id, order, at, workspace, conversation, method, fault, durationMs } = request;
  const mask = maskFor(viewer, workspace);
  const reply = request.status !== undefined && { status: request.status, headers: {}, body: "" };
  return {
    id,
    order,
    at: at.toISOString(),
    interface: request.interface,
    workspace: workspace ?? null,
    operation: operationOf(request),
    conversation: conversation ?? null,
    method,
    url: mask.url(`${viewer.state.origins[request.interface]}${request.path}`),
    sent: mask.part({ headers: request.headers, body: textOf(request.body) }),
    received: reply === false ? null : viewReply(mask, { ...reply, ...request.answer }),
    fault: viewStruck(fault),
    durationMs,
  };
}

/** Empty if none struck. */
const viewStruck = (fault: Fault | undefined): string => (fault === undefined ? "" : JSON.stringify(fault));

const ACTIONS = ["get-webhook", "set-webhook", "delete-webhook"];

function operationOf({ interface: to, workspace, action, method }: RecordedRequest): string | null {
  if (to === "registration") return action !== undefined && ACTIONS.includes(action) ? action : null;
  return workspace !== undefined && method === "POST" ? "message" : null;
}

const textOf = (body: unknown): string => (typeof body === "string" ? body : (JSON.stringify(body) ?? ""));

function viewReply(mask: Mask, reply: HttpReply | undefined): HttpView | null {
  return reply === undefined ? null : { status: reply.status, ...mask.part(reply) };
}
