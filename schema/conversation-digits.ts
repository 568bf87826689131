/** A reviver for JSON.parse that keeps every digit of a `conv_id` beyond the safe integers, as a bigint. */
export function reviveConversationId(key: string, value: unknown, context?: { source?: string }): unknown {
  if (key !== "conv_id" || typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const digits = context?.source ?? "";
  return /^-?\d+$/.test(digits) ? BigInt(digits) : value;
}
