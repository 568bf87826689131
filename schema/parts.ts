import * as z from "zod";

/**
 * Gives a shape inside another one the name of its type; it does nothing at run time. Without it the nested type is
 * anonymous in editors, and in the JSON Schema it is written out wherever it is used.
 */
export function named<Type>(shape: z.ZodType<Type>): z.ZodType<Type> {
  return shape;
}

/**
 * A conversation id to be sent (section 2.3): an integer from -(2^53 - 1) to 2^53 - 1. One beyond is refused: a JavaScript
 * number cannot hold its digits, so another conversation would be addressed.
 */
export const sentConversationId = z.int({
  error: ({ input }) =>
    Number.isInteger(input) || typeof input === "bigint"
      ? "beyond the safe integers: its digits would be lost; use an id from -9007199254740991 to 9007199254740991"
      : "expected an integer",
});

/**
 * A conversation id as received (section 2.4): a number, or a bigint when a number would lose digits. `String(id)` gives
 * the digits of both. JSON.stringify refuses a bigint, so convert the id before you serialize a message.
 */
export type ReceivedConversationId = number | bigint;

const receivedError: z.core.$ZodErrorMap = ({ input }) =>
  Number.isInteger(input)
    ? "its digits are lost: read the JSON text with parseOutbound, and write the id without fraction or exponent"
    : "expected an integer";

/** Accepts what `reviveConversationId` leaves: a number that already lost its digits is refused. */
export const receivedConversationId: z.ZodType<ReceivedConversationId> = z.union(
  [z.int({ error: receivedError }), z.bigint()],
  { error: receivedError },
);

// JSON Schema cannot see these patterns through the types: each key that uses one repeats it in a `@pattern` tag.

/** A URL in a request: absolute, http or https, without whitespace. */
export const requestUrl = z
  .string()
  .regex(
    /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]\S*$/,
    "expected an absolute http or https URL without whitespace",
  );

/** A URL as received. Only its start is looked at: a space in a file name is let through. */
export const receivedUrl = z
  .string()
  .regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]/, "expected an absolute http or https URL");

/** As {@link receivedUrl}, or empty: what a card without an image or link holds is not in the specification. */
export const receivedUrlOrEmpty = z
  .string()
  .regex(
    /^$|^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]/,
    "expected an absolute http or https URL, or an empty string",
  );
