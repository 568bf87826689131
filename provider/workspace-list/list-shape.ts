import * as z from "zod";
import { problemOfSecret } from "../lib/values.js";
import { problemOfUrl, canonicalUrl } from "../lib/url.js";
import { WORKSPACE_NAME, onAnyObject, refineWith } from "../lib/validate.js";

/** One workspace of a list, with the defaults of the list. */
export interface ListedWorkspace {
  /** Letters, digits, "_", "-" and "."; also the name of its resources. */
  name: string;
  /** Address of its registration interface (section 4.1). */
  baseUrl: string;
  /** Where the service sends handshakes and deliveries (section 4.3). */
  webhookUrl?: string;
  /** Default: the command's or the environment's. */
  apiKey?: string;
}

/** One workspace of a list for `webhook plan`, which compares registrations with the webhook URL. */
export type PlannedWorkspace = ListedWorkspace & { webhookUrl: string };

/** Who reads a list: the program of a fleet may supply the webhook URL, and `webhook plan` needs it. */
export type ListReader = "fleet" | "plan";

/** A string that a function checks. */
const checkedText = (problemOf: (value: string) => string | undefined): z.ZodType<string> =>
  z.string().superRefine(refineWith(problemOf));

const url = (example: string): z.ZodType<string> => checkedText((value) => problemOfUrl(value, example));

// The value is not shown: it may be a key in the wrong place.
const workspaceName = z.string().regex(WORKSPACE_NAME, {
  error: 'must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-", the first a letter or a digit',
});

/**
 * The value is sent to the entry's base URL, so a list must not be able to name any other secret of the
 * environment.
 */
function problemOfKeyVariable(name: string): string | undefined {
  if (!name.includes("API_KEY")) {
    return (
      "must be the name of an environment variable for an API key, with API_KEY in it, " +
      "such as ACME_API_KEY; rename the variable"
    );
  }
  // An empty variable counts as none, as everywhere.
  if (process.env[name]) return undefined;
  return "must be the name of an environment variable that is set; set it, or name another";
}

/** The fields that an entry may have, and the top of a list for all its entries. */
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

/** Rejects an API key that is given twice. */
const rejectTwoKeys = <T extends z.ZodType<KeySource>>(shape: T): T =>
  shape.refine(({ apiKey, apiKeyEnv }) => apiKey === undefined || apiKeyEnv === undefined, {
    error: "cannot be combined with apiKeyEnv; use one of the two",
    path: ["apiKey"],
    ...onAnyObject,
  });

const entryShape = rejectTwoKeys(
  z.strictObject({
    name: workspaceName,
    baseUrl: url("https://platform.example/acme/apichat"),
    ...commonFields,
  }),
);

/** The API key that an entry or the top of a list gives. */
const apiKeyOf = ({ apiKey, apiKeyEnv }: KeySource): string | undefined =>
  apiKey ?? (apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv]);

/** A list, whose top may have what its entries have in common. The list of a program has no top. */
export const listShape = (reader: ListReader) =>
  rejectTwoKeys(
    z.strictObject({
      ...commonFields,
      workspaces: z.array(entryShape).min(1, { error: "must have at least one entry" }),
    }),
  ).superRefine((list, context) => {
    const gaps = reader === "plan" ? findGaps(list) : [];
    const problems = [...findSameNames(list), ...findClashes(list), ...gaps];
    for (const { index, field, text: message } of problems) {
      context.addIssue({ code: "custom", path: ["workspaces", index, field], message });
    }
  }, onAnyList);

// Entries are compared even if they have other problems, so that all of them are reported at once.
const onAnyList = {
  when: ({ value }: { value: unknown }) =>
    typeof value === "object" && value !== null && "workspaces" in value && Array.isArray(value.workspaces),
};

type List = z.output<ReturnType<typeof listShape>>;

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

/** Entries may be of any type: they have not been validated yet. */
function findGaps(list: List): EntryProblem[] {
  const text = "is missing; give it for each workspace, or once at the top of the list";
  const gaps = list.workspaces.flatMap((entry, index) =>
    typeof entry === "object" && entry !== null && (entry.webhookUrl ?? list.webhookUrl) === undefined
      ? [{ index, field: "webhookUrl", text }]
      : [],
  );
  // A list of a fleet may have none: one line says it.
  return gaps.length === list.workspaces.length ? gaps.slice(0, 1) : gaps;
}

/** Entries with one name. Each is reported, so that the error names both lines. */
const findSameNames = ({ workspaces }: List): EntryProblem[] =>
  groupBy(workspaces.map((entry) => textOf(entry, "name"))).flatMap((indexes) =>
    indexes.map((index) => {
      const other = indexes.find((one) => one !== index) ?? index;
      const name = textOf(workspaces[index], "name") ?? "";
      const what = WORKSPACE_NAME.test(name) ? `"${name}"` : "this";
      return {
        index,
        field: "name",
        text: `${what} is also the name of workspaces[${other}]; rename one of them`,
      };
    }),
  );

/** Entries that reach one workspace, which has one webhook: same address, same API key. Each is reported. */
function findClashes(list: List): EntryProblem[] {
  const { workspaces, ...top } = list;
  const commonKey = apiKeyOf(top);
  return groupBy(workspaces.map((entry) => identityOf(entry, commonKey))).flatMap((indexes) =>
    indexes.map((index) => {
      const other = indexes.find((one) => one !== index) ?? index;
      const name = textOf(workspaces[other], "name");
      const who = name !== undefined && WORKSPACE_NAME.test(name) ? `"${name}"` : `entry ${other + 1}`;
      const text =
        `reaches the same workspace as ${who}, with the same API key; a workspace has one webhook: ` +
        "keep one of them";
      return { index, field: "baseUrl", text };
    }),
  );
}

function identityOf(entry: unknown, commonKey: string | undefined): string | undefined {
  const baseUrl = textOf(entry, "baseUrl");
  if (baseUrl === undefined || URL.parse(baseUrl) === null) return undefined;
  const apiKeyEnv = textOf(entry, "apiKeyEnv");
  const own = apiKeyOf({ apiKey: textOf(entry, "apiKey"), apiKeyEnv });
  // The missing variable is reported separately. The key that it will contain is unknown.
  if (own === undefined && apiKeyEnv !== undefined) return undefined;
  return JSON.stringify([canonicalUrl(baseUrl), own ?? commonKey]);
}

/** The indexes of equal keys, where there are several. */
function groupBy(keys: readonly (string | undefined)[]): number[][] {
  const groups = Map.groupBy(keys.keys(), (index) => keys[index]);
  groups.delete(undefined);
  return [...groups.values()].filter((indexes) => indexes.length > 1);
}

function textOf(entry: unknown, field: string): string | undefined {
  const value = (entry as Record<string, unknown> | null | undefined)?.[field];
  return typeof value === "string" ? value : undefined;
}
