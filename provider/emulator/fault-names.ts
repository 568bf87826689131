/**
 * The operations that can have a fault, and the faults that are only a name. The page loads this file, so it
 * imports no zod.
 */

export const FAULT_OPERATIONS = [
  "message",
  "delivery",
  "handshake",
  "set-webhook",
  "get-webhook",
  "delete-webhook",
] as const;

const OF_ALL = ["broken-json", "truncated", "close-before", "close-after"] as const;

export const ANSWER_FAULTS = [...OF_ALL, "html"] as const;

export const DELIVERY_FAULTS = [...OF_ALL, "wrong-signature", "duplicate", "reorder"] as const;
