import * as z from "zod";
import { problemOfSecret, problemOfUrl, WORKSPACE_NAME } from "../lib/checks.js";
import { refineWith, onAnyObject } from "../lib/validate.js";

/**
 * Who reads a list. A fleet names its resources after the entries, and its program may supply the webhook URL. `webhook plan`
 * compares registrations with the webhook URL and only prints the names.
 */
export type ListReader = "fleet" | "plan";

/** What looks like an address. Anything else may be a key from another column, and is not shown. */
const ADDRESS = /^(?:$|[a-z][a-z+.-]*:\/\/|(?:localhost|[\w-]+(?:\.[\w-]+)+)[:/])/i;

/** A string that a function checks. */
const text = (problemOf: (value: string) => string | undefined): z.ZodType<string> =>
  z.string().superRefine(refineWith(problemOf));

const url = (example: string): z.ZodType<string> =>
  text((value) => problemOfUrl(ADDRESS.test(value) ? value : "***", example));

const secret = text((value) => problemOfSecret(value, "copy it again from the platform's support"));

const NAMES: Record<ListReader, z.ZodType<string>> = {
  // The value is not shown: in a row whose cells slipped it may be a key.
  fleet: z.string().regex(WORKSPACE_NAME, {
    error: 'must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-", the first a letter or a digit',
  }),
  plan: z.string().min(1, { error: "must not be empty" }),
};

/** The fields that an entry may have, and the top of a list for all its entries. */
export const commonFields = {
  webhookUrl: url("https://chat.example/webhooks/apichat").optional(),
  apiKey: secret.optional(),
  apiKeyEnv: text(problemOfKeyVariable).optional(),
};

/** The value is sent to the entry's base URL, so a list must not be able to name any other secret of the environment. */
function problemOfKeyVariable(name: string): string | undefined {
  if (!name.includes("API_KEY")) {
    return "must be the name of an environment variable for an API key, with API_KEY in it, such as ACME_API_KEY; rename the variable";
  }
  // An empty variable counts as none, as everywhere.
  if (process.env[name]) return undefined;
  return "must be the name of an environment variable that is set; set it, or name another";
}

/** The names of an entry's fields, which are the columns of a CSV file. */
export const ENTRY_FIELDS = ["name", "baseUrl", "webhookUrl", "botUrl", "apiKeyEnv", "apiKey"] as const;

export type EntryField = (typeof ENTRY_FIELDS)[number];

export const entryShape = (reader: ListReader) =>
  refuseTwoKeys(
    z.strictObject({
      name: NAMES[reader],
      baseUrl: url("https://platform.example/acme/apichat"),
      botUrl: url("https://bots.example/api/apichat/f0123").optional(),
      ...commonFields,
    } satisfies Record<EntryField, z.ZodType>),
  );

/** Where an API key comes from. */
export interface KeySource {
  apiKey?: string;
  apiKeyEnv?: string;
}

/** Rejects an API key that is given twice. */
export const refuseTwoKeys = <T extends z.ZodType<KeySource>>(shape: T): T =>
  shape.refine(({ apiKey, apiKeyEnv }) => apiKey === undefined || apiKeyEnv === undefined, {
    error: "cannot be combined with apiKeyEnv; use one of the two",
    path: ["apiKey"],
    ...onAnyObject,
  });

/** The API key that an entry or the top of a list gives. */
export const apiKeyOf = ({ apiKey, apiKeyEnv }: KeySource): string | undefined =>
  apiKey ?? (apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv]);

/** One workspace of a list, with the defaults of the list. */
export interface ListedWorkspace {
  /** Letters, digits, "_", "-" and "."; also the name of its resources. */
  name: string;
  baseUrl: string;
  webhookUrl?: string;
  /** The expected bot: a different one is reported. */
  botUrl?: string;
  /** Default: the command's or the environment's. */
  apiKey?: string;
}

/** One workspace of a list for `webhook plan`, which compares registrations with the webhook URL. */
export interface PlannedWorkspace extends ListedWorkspace {
  /** Any text, because no resource gets it. */
  name: string;
  webhookUrl: string;
}
