import * as z from "zod";

/** A flow written as data (a file, YAML or JSON): the first rule that matches replies. */
export interface Scenario {
  rules: unknown[];
}

export const scenario: z.ZodType<Scenario> = z.strictObject({ rules: z.array(z.unknown()) });
