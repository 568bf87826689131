import { nextRecord, type EmulatorState } from "../emulator-state.js";
import { keep } from "../history.js";
import type { DeliveryRecord } from "../records.js";
import type { WorkspaceState } from "../workspace-state.js";

/** What is known of a delivery before its first try. */
export type NewDelivery = Pick<DeliveryRecord, "conversation" | "message" | "url" | "sent" | "dueAt"> &
  Partial<Pick<DeliveryRecord, "headers" | "resendOf">>;

/** Records a delivery that is still to come, and tells of it. */
export function recordDelivery(
  state: EmulatorState,
  workspace: WorkspaceState,
  known: NewDelivery,
  numbered = nextRecord(state, "delivery"),
): DeliveryRecord {
  const delivery: DeliveryRecord = {
    ...numbered,
    at: new Date(),
    workspace: workspace.name,
    contactId: known.message.sender_id,
    conversationId: known.message.conv_id,
    headers: {},
    signature: "right",
    verdict: "pending",
    reason: "",
    status: undefined,
    body: "",
    attempts: [],
    resendOf: undefined,
    ...known,
  };
  keep(workspace.deliveries, delivery);
  state.changes.publish({ kind: "delivery", delivery });
  return delivery;
}

/** A new delivery of the same bytes and headers as one that was sent. */
export function recordCopy(
  state: EmulatorState,
  workspace: WorkspaceState,
  { id, conversation, message, url, sent, headers }: DeliveryRecord,
): DeliveryRecord {
  const known = { conversation, message, url, sent, headers, dueAt: new Date(), resendOf: id };
  return recordDelivery(state, workspace, known);
}
