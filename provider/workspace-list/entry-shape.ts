import * as z from "zod";
import { problemOfSecret, problemOfUrl, WORKSPACE_NAME } from "../lib/checks.js";

/**
 * Who reads a list. A fleet names its resources after the entries, and its program may supply the webhook URL. `webhook plan`
 * compares registrations with the webhook URL and only prints the names.
 */
export type ListReader = "fleet" | "plan";

/** What looks like an address. Else it may be a key from another column, which is not shown. */
const ADDRESS = /^(?:$|[a-z][a-z+.-]*:\/\/|(?:localhost|[\w-]+(?:\.[\w-]+)+)[:/])/i;

/** A text whose problem a function words. */
const text = (problemOf: (value: string) => string | undefined): z.ZodType<string> =>
  z.string().superRefine((value, context) => {
    const message = problemOf(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });

const url = (example: string): z.ZodType<string> =>
  text((value) => problemOfUrl(ADDRESS.test(value) ? value : "***", example));

const secret = text((value) => problemOfSecret(value, "copy it again from the platform's support"));

const NAMES: Record<ListReader, z.ZodType<string>> = {
  // The value is not shown: in a row of cells that slipped it may be a key.
  fleet: z.string().regex(WORKSPACE_NAME, {
    error: 'must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-", the first a letter or a digit',
  }),
  plan: z.string().min(1, { error: "must not be empty" }),
};

const webhookUrl = url("https://chat.example/webhooks/apichat");

/** What stands in an entry, or once for all of them at the top of a list. */
export const commonFields = {
  webhookUrl: webhookUrl.optional(),
  apiKey: secret.optional(),
  apiKeyEnv: text(problemOfKeyVariable).optional(),
};

/** The value is sent to the entry's base URL, so a list cannot choose any other secret of the environment. */
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

const fieldsFor = (reader: ListReader) =>
  ({
    name: NAMES[reader],
    baseUrl: url("https://platform.example/acme/apichat"),
    botUrl: url("https://bots.example/api/apichat/f0123").optional(),
    ...commonFields,
  }) satisfies Record<EntryField, z.ZodType>;

/** An entry of a list that may have its webhook URL at the top. */
export const entryShape = (reader: ListReader) => refuseTwoKeys(z.strictObject(fieldsFor(reader)));

/** An entry of a list that has no top, such as a row of a CSV file. */
export const wholeEntryShape = (reader: ListReader) =>
  refuseTwoKeys(
    z.strictObject({
      ...fieldsFor(reader),
      webhookUrl: reader === "plan" ? webhookUrl : webhookUrl.optional(),
    }),
  );

/** Where an API key comes from. */
export interface KeySource {
  apiKey?: string;
  apiKeyEnv?: string;
}

/** Refuses an API key that is given twice. */
export const refuseTwoKeys = <T extends z.ZodType<KeySource>>(shape: T): T =>
  shape.refine(({ apiKey, apiKeyEnv }) => apiKey === undefined || apiKeyEnv === undefined, {
    error: "cannot be combined with apiKeyEnv; use one of the two",
    path: ["apiKey"],
    // Also beside other problems: all of them are reported at once.
    when: ({ value }) => typeof value === "object" && value !== null,
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
  /** Another bot is then reported. */
  botUrl?: string;
  /** undefined: that of the command or the environment. */
  apiKey?: string;
}

/** One workspace of a list that a plan has read: what stands there is compared with its webhook URL. */
export interface PlannedWorkspace extends ListedWorkspace {
  /** Any text: it makes no resource. */
  name: string;
  webhookUrl: string;
}
