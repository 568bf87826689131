import type { OutboundMessage } from "../../schema/index.js";
import { signBody } from "../responder/signature.js";
import { invalidOption } from "./options.js";
import { describeStatus, post, type Outgoing } from "./outgoing.js";
import type { DeliveryResult } from "./records.js";
import { currentRegistration, type WorkspaceState } from "./workspace-state.js";

export interface DeliveryOptions {
  /** Time limit of the delivery. Default 5000. */
  timeoutMs?: number;
  /** Sent as `X-Hub-Signature-256` in place of the right signature. */
  signature?: string;
  /** The exact bytes to sign and send, in place of the message as JSON. */
  body?: string | Uint8Array;
}

/**
 * Signs a message and posts it to the registered URL, once (section 6.2). A webhook that does not take it is a verdict,
 * not an error. Throws `invalid_config` if nothing is registered.
 */
export async function deliverMessage(
  outgoing: Outgoing,
  state: WorkspaceState,
  message: OutboundMessage,
  options: DeliveryOptions = {},
): Promise<DeliveryResult> {
  const registration = currentRegistration(state);
  if (!registration) throw invalidOption(`deliver: workspace "${state.name}" has no registered webhook`);
  const sent = toBytes(options.body ?? serializeMessage(message));
  const headers = {
    "content-type": "application/json",
    "x-hub-signature-256": options.signature ?? (await signBody(registration.webhook_verification_key, sent)),
    "x-flow-ns": state.flowNs,
    "x-action": "messages",
  };
  const url = registration.webhook_url;
  const at = new Date();
  const result = await post(outgoing, { url, headers, body: sent, timeoutMs: options.timeoutMs ?? 5000 });
  const answer = "reason" in result ? { status: undefined, body: "" } : result;
  const reason = "reason" in result ? result.reason : describeStatus(result.status);
  const verdict = reason === "" ? "delivered" : "failed";
  const delivery: DeliveryResult = { at, url, headers, sent, verdict, reason, ...answer };
  state.deliveries.push(delivery);
  return delivery;
}

function toBytes(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? new TextEncoder().encode(body) : body;
}

/** As JSON.stringify, but a conversation id beyond the safe integers (a bigint) is written with all its digits. */
function serializeMessage(message: OutboundMessage): string {
  const { conv_id, ...rest } = message;
  return JSON.stringify({ ...rest, conv_id: 0 }).replace(/0\}$/, `${conv_id}}`);
}
