/** What a fault can strike, and the faults that have only a name. The page loads this file, so it loads no zod. */

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
