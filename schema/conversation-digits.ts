/** More digits than any integer type has. A bigint of a million takes a second to be written. */
const MOST_DIGITS = 100;

/**
 * A reviver for JSON.parse that keeps every digit of a `conv_id` beyond the safe integers, as a bigint. One of more than 100
 * digits stays the number that JSON makes of it.
 */
export function reviveConversationId(key: string, value: unknown, context?: { source?: string }): unknown {
  if (key !== "conv_id" || typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const digits = context?.source ?? "";
  return digits.length <= MOST_DIGITS && /^-?\d+$/.test(digits) ? BigInt(digits) : value;
}
