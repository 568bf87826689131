import * as z from "zod";
import { problemOfSecret } from "../lib/values.js";
import { problemOfUrl, canonicalUrl } from "../lib/url.js";
import { WORKSPACE_NAME, refineWith } from "../lib/validate.js";

/** One workspace of a list, with the list's defaults applied. */
export interface ListedWorkspace {
  /** Letters, digits, "_", "-" and "."; also the name of its resources. */
  name: string;
  /** Address of its registration interface (section 4.1). */
  baseUrl: string;
  /** Where the service sends handshakes and deliveries (section 4.3). */
  webhookUrl?: string;
  /** Default: the command's or the environment's API key. */
  apiKey?: string;
}

/** One workspace of a list for `webhook plan`, which compares registrations with the webhook URL. */
export type PlannedWorkspace = ListedWorkspace & { webhookUrl: string };

/** A string that a function checks. */
const checkedText = (problemOf: (value: string) => string | undefined): z.ZodType<string> =>
  z.string().superRefine(refineWith(problemOf));

const url = (example: string): z.ZodType<string> => checkedText((value) => problemOfUrl(value, example));

// The value is not shown: it may be a key in the wrong place.
const workspaceName = z.string().regex(WORKSPACE_NAME, {
  error: 'must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-", starting with a letter or digit',
});

/**
 * The variable's value is sent to the entry's base URL, so a list must not be able to name a variable that holds
 * any other secret.
 */
function problemOfKeyVariable(name: string): string | undefined {
  if (!name.includes("API_KEY")) {
    return (
      "must be the name of an environment variable for an API key, with API_KEY in it, " +
      "such as ACME_API_KEY; rename the variable"
    );
  }
  // An empty variable counts as unset, as everywhere else.
  if (process.env[name]) return undefined;
  return "must be the name of an environment variable that is set; set it, or use a different one";
}

/** The fields that an entry may have, and that the top of a list may have for all its entries. */
const commonFields = {
  webhookUrl: url("https://chat.example/webhooks/apichat").optional(),
  apiKey: checkedText((key) => problemOfSecret(key, "copy it again from the platform's support")).optional(),
  apiKeyEnv: checkedText(problemOfKeyVariable).optional(),
};

/** Where an API key comes from. */
interface KeySource {
  apiKey?: string;
  apiKeyEnv?: string;
}

/** Rejects an entry or a list with two sources of its API key. */
const rejectTwoKeys = <T extends z.ZodType<KeySource>>(shape: T): T =>
  shape.refine(({ apiKey, apiKeyEnv }) => apiKey === undefined || apiKeyEnv === undefined, {
    error: "cannot be combined with apiKeyEnv; use one of the two",
    path: ["apiKey"],
  });

const entryShape = rejectTwoKeys(
  z.strictObject({
    name: workspaceName,
    baseUrl: url("https://platform.example/acme/apichat"),
    ...commonFields,
  }),
);

/** The API key of an entry, or of the top of a list. */
const apiKeyOf = ({ apiKey, apiKeyEnv }: KeySource): string | undefined =>
  apiKey ?? (apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv]);

/** A list. The fields beside `workspaces` are defaults for its entries; a list that a program passes has none. */
export const listShape = rejectTwoKeys(
  z.strictObject({
    ...commonFields,
    workspaces: z.array(entryShape).min(1, { error: "must have at least one entry" }),
  }),
).superRefine((list, context) => {
  for (const { index, field, text: message } of [...findSameNames(list), ...findClashes(list)]) {
    context.addIssue({ code: "custom", path: ["workspaces", index, field], message });
  }
});

type List = z.output<typeof listShape>;

/** The workspaces of a list, each with the defaults from the top. */
export const workspacesOf = ({ workspaces, ...top }: List): ListedWorkspace[] =>
  workspaces.map((entry) => {
    const { name, baseUrl, webhookUrl = top.webhookUrl } = entry;
    const apiKey = apiKeyOf(entry) ?? apiKeyOf(top);
    return {
      name,
      baseUrl,
      ...(webhookUrl && { webhookUrl }),
      ...(apiKey && { apiKey }),
    };
  });

/** A problem that an entry has because of other entries. The text contains no value except a valid name. */
interface EntryProblem {
  index: number;
  field: string;
  text: string;
}

const findSameNames = ({ workspaces }: List): EntryProblem[] =>
  findEqual(workspaces.map(({ name }) => name)).map(({ index, other }) => ({
    index,
    field: "name",
    text: `${nameOf(workspaces[index], "this")} is also the name of workspaces[${other}]; rename one of them`,
  }));

/** Finds entries with the same base URL and API key: a workspace can have only one webhook. */
function findClashes({ workspaces, ...top }: List): EntryProblem[] {
  const identityOf = ({ baseUrl, ...entry }: List["workspaces"][number]): string =>
    // If the variable for a key is not set, the variable's name is compared instead of the key.
    JSON.stringify([canonicalUrl(baseUrl), apiKeyOf(entry) ?? entry.apiKeyEnv ?? apiKeyOf(top)]);
  return findEqual(workspaces.map(identityOf)).map(({ index, other }) => ({
    index,
    field: "baseUrl",
    text:
      `reaches the same workspace as ${nameOf(workspaces[other], `entry ${other + 1}`)}, with the same API key; ` +
      "a workspace has only one webhook: remove one of them",
  }));
}

const nameOf = (entry: { name: string } | undefined, otherwise: string): string =>
  entry !== undefined && WORKSPACE_NAME.test(entry.name) ? `"${entry.name}"` : otherwise;

/** Finds equal keys. Returns the index of each, and that of another key equal to it, so that errors can name both. */
const findEqual = (keys: readonly string[]): { index: number; other: number }[] =>
  [...Map.groupBy(keys.keys(), (index) => keys[index]).values()].flatMap((indexes) =>
    indexes.flatMap((index) => {
      const other = indexes.find((one) => one !== index);
      return other === undefined ? [] : [{ index, other }];
    }),
  );
