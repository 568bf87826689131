/**
 * The built-in flows, the operations that can have a fault, and the faults that need only a name. This file
 * imports nothing, because the page and `--help` load it.
 */

export const FLOW_NAMES = ["echo", "menu", "silent"] as const;

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
