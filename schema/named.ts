import type * as z from "zod";

/**
 * Gives a shape inside another one the name of its type; it does nothing at run time. Without it the nested type is
 * anonymous in editors, and in the JSON Schema it is written out wherever it is used.
 */
export function named<Type>(shape: z.ZodType<Type>): z.ZodType<Type> {
  return shape;
}
