/** Removes null fields: a secret argument that resolves to undefined arrives as null. List items are kept. */
export const withoutNulls = <T extends object>(values: T): T =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name, isMap(value) ? withoutNulls(value) : (value as unknown)]),
  ) as T;

/** Parses JSON. Text that is not JSON is returned unchanged; for empty text, returns undefined. */
export function jsonOrText(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const CONTROL_CHARACTER = /\p{Cc}/u;

/** Returns what is wrong with a secret string, and how to fix it, without showing the string. */
export function problemOfSecret(value: unknown, hint: string): string | undefined {
  const accepted = acceptedSecret(value);
  return accepted === undefined ? undefined : `must be ${accepted}; ${hint}`;
}

function acceptedSecret(value: unknown): string | undefined {
  if (typeof value !== "string") return `a string, got ${kindOf(value)}`;
  if (value === "") return "non-empty, got an empty string";
  if (value.trim() !== value) {
    return (
      `without leading or trailing whitespace, got ${value.length} characters, ` +
      `${value.trim().length} after trimming`
    );
  }
  return CONTROL_CHARACTER.test(value)
    ? `without control characters, got ${value.length} characters, some of them control characters`
    : undefined;
}
