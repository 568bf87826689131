import { describeStatus, type OutgoingResult } from "../outgoing.js";
import type { DeliveryAnswer } from "../switches.js";

/** Why an answer does not mean that the endpoint took the delivery, read as `deliveryAnswer` says; empty if it does. */
export function judgeAnswer(result: OutgoingResult, reading: DeliveryAnswer): string {
  if ("reason" in result) return result.reason;
  const { status } = result;
  if (reading === "any" || status === 200) return "";
  return describeStatus(status) || (reading === "200" ? `answered HTTP ${status}: only 200 counts` : "");
}
