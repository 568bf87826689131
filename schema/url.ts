import * as z from "zod";

// JSON Schema cannot see these patterns through the types: each key that uses one repeats it in a `@pattern` tag.

/** A URL in a request: absolute, http or https, without white space. */
export const requestUrl = z
  .string()
  .regex(
    /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]\S*$/,
    "expected an absolute http or https URL without white space",
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
