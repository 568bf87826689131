import type { OutboundMessage } from "../../../schema/index.js";
import { signBody } from "../../responder/signature.js";
import { invalidOption } from "../check-options.js";
import { nextRecord, type EmulatorState } from "../emulator-state.js";
import { keep } from "../history.js";
import { describeStatus, post } from "../outgoing.js";
import type { DeliveryRecord } from "../records.js";
import { currentRegistration, type WorkspaceState } from "../workspace-state.js";

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
  state: EmulatorState,
  workspace: WorkspaceState,
  message: OutboundMessage,
  options: DeliveryOptions = {},
): Promise<DeliveryRecord> {
  const registration = currentRegistration(workspace);
  if (!registration) throw invalidOption(`deliver: workspace "${workspace.name}" has no registered webhook`);
  const sent = toBytes(options.body ?? serializeMessage(message));
  const right = await signBody(registration.webhook_verification_key, sent);
  const headers = {
    "content-type": "application/json",
    "x-hub-signature-256": options.signature ?? right,
    "x-flow-ns": workspace.flowNs,
    "x-action": "messages",
  };
  const url = registration.webhook_url;
  const at = new Date();
  const begun = performance.now();
  const timeoutMs = options.timeoutMs ?? state.settings.deliveryTimeoutMs;
  const result = await post(state.outgoing, { url, headers, body: sent, timeoutMs });
  const reason = "reason" in result ? result.reason : describeStatus(result.status);
  const received = "reason" in result ? undefined : result;
  const delivery: DeliveryRecord = {
    ...nextRecord(state, "delivery"),
    at,
    workspace: workspace.name,
    conversation: undefined,
    url,
    headers,
    sent,
    signature: headers["x-hub-signature-256"] === right ? "right" : "wrong",
    verdict: reason === "" ? "delivered" : "failed",
    reason,
    status: received?.status,
    body: received?.body ?? "",
    attempts: [{ at, durationMs: performance.now() - begun, received, reason }],
    dueAt: at,
    resendOf: undefined,
  };
  keep(workspace.deliveries, delivery);
  state.changes.publish({ kind: "delivery", delivery });
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
