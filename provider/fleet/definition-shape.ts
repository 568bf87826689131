import { fileURLToPath, pathToFileURL } from "node:url";
import * as z from "zod";
import { kindOf } from "../lib/checks.js";
import { expected } from "../lib/validate.js";

const DEFAULT_PROJECT = "apichat-fleet";

const name = expected(
  '1 to 64 of a-z, 0-9 and "-", the first and the last a letter or a digit',
  'write for example "production"',
);

const stacks = expected("a whole number from 1 to 999", "write for example 20");

const project = expected('1 to 100 of A-Z, a-z, 0-9, ".", "_", "-"', `leave it out for "${DEFAULT_PROJECT}"`);

const programError = expected(
  "the URL of a file or its path",
  'write for example new URL("./program.ts", import.meta.url)',
);

const text = (wanted: string, hint: string): z.ZodType<string> => {
  // What is given is not shown: a secrets provider may have a token in its URL.
  const error: z.core.$ZodErrorMap = ({ input }) =>
    `must be ${wanted}, got ${input === "" ? "an empty text" : kindOf(input)}; ${hint}`;
  return z.string({ error }).min(1, { error });
};

/** What a fleet's definition must be, field by field. The workspaces of a list that is given are checked by their own shape. */
export const definitionShape = z.strictObject({
  // A Pulumi stack has it in its name.
  name: z.string({ error: name }).regex(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/, { error: name }),
  stacks: z.int({ error: stacks }).min(1, { error: stacks }).max(999, { error: stacks }),
  workspaces: z.custom<string | readonly unknown[]>(
    (value) => (typeof value === "string" && value !== "") || Array.isArray(value),
    {
      error: ({ input }) =>
        `must be a list or the path of a file, got ${kindOf(input)}; write for example "workspaces.csv"`,
    },
  ),
  program: z
    .custom<URL | string>((value) => toFileUrl(value) !== undefined, { error: programError })
    .transform((value) => toFileUrl(value) ?? ""),
  project: z
    .string({ error: project })
    .regex(/^[\w.-]{1,100}$/, { error: project })
    .default(DEFAULT_PROJECT),
  secretsProvider: text("a text", 'write for example "awskms://alias/fleet", or leave it out').optional(),
  dataDir: text("the path of a folder", "leave it out for a folder beside the program").optional(),
});

export interface CheckedDefinition extends z.output<typeof definitionShape> {}

/** A path is taken from the current folder. Gives undefined for what is no file's address at all. */
function toFileUrl(program: unknown): string | undefined {
  const isUrl = program instanceof URL || (typeof program === "string" && /^[a-z][a-z+.-]+:/i.test(program));
  if (!isUrl) return typeof program === "string" && program !== "" ? pathToFileURL(program).href : undefined;
  try {
    const url = new URL(program);
    fileURLToPath(url);
    return url.href;
  } catch {
    // Of another scheme, or of another machine.
    return undefined;
  }
}
