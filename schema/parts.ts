import * as z from "zod";

/**
 * Names the type of a nested shape; does nothing at run time. Without it, the nested type is anonymous in
 * editors, and the JSON Schema repeats it wherever it is used.
 */
export function named<Type>(shape: z.ZodType<Type>): z.ZodType<Type> {
  return shape;
}

/**
 * A conversation ID to send (section 2.3): an integer from -(2^53 - 1) to 2^53 - 1. As a JavaScript
 * number, a larger ID would lose digits, and the message would reach a different conversation.
 */
export const sentConversationId = z.int({
  error: ({ input }) =>
    Number.isInteger(input) || typeof input === "bigint"
      ? "beyond the safe integers: its digits would be lost; use an id from -9007199254740991 to 9007199254740991"
      : "expected an integer",
});

/**
 * A conversation ID as received (section 2.4): a number, or a bigint if a number would lose digits.
 * `String(id)` returns the digits of either. JSON.stringify throws on a bigint, so convert the ID first.
 */
export type ReceivedConversationId = number | bigint;

const receivedError: z.core.$ZodErrorMap = ({ input }) =>
  Number.isInteger(input)
    ? "its digits are lost: read the JSON text with parseOutbound, and write the id without fraction or exponent"
    : "expected an integer";

/** Accepts the result of `reviveConversationId`; rejects a number that has already lost digits. */
export const receivedConversationId: z.ZodType<ReceivedConversationId> = z.union(
  [z.int({ error: receivedError }), z.bigint()],
  { error: receivedError },
);

// The JSON Schema is made from the types, which lack these patterns, so each field that uses one has a `@pattern` tag.

/** A URL in a request: absolute, http or https, without whitespace. */
export const requestUrl = z
  .string()
  .regex(
    /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]\S*$/,
    "expected an absolute http or https URL without whitespace",
  );

/** A URL as received. Only its start is checked, so a space in a file name is accepted. */
export const receivedUrl = z
  .string()
  .regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]/, "expected an absolute http or https URL");

/** Like {@link receivedUrl}, or empty: the specification does not say what a card without an image or link contains. */
export const receivedUrlOrEmpty = z
  .string()
  .regex(
    /^$|^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]/,
    "expected an absolute http or https URL, or an empty string",
  );
