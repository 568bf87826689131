import * as z from "zod";
import { WORKSPACE_NAME } from "../lib/checks.js";
import { canonicalUrl } from "../lib/url.js";
import {
  apiKeyOf,
  commonFields,
  entryShape,
  type EntryField,
  type ListedWorkspace,
  type ListReader,
  refuseTwoKeys,
} from "./entry-shape.js";

/** A list, whose top may have what its entries have in common. CSV files and lists of programs have no top. */
export const listShape = (reader: ListReader) =>
  refuseTwoKeys(
    z.strictObject({
      ...commonFields,
      workspaces: z.array(entryShape(reader)).min(1, { error: "must have at least one entry" }),
    }),
  ).superRefine((list, context) => {
    for (const { index, field, text } of reader === "fleet" ? findClashes(list) : findGaps(list)) {
      context.addIssue({ code: "custom", path: ["workspaces", index, field], message: text });
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
    const { name, baseUrl, botUrl, webhookUrl = top.webhookUrl } = entry;
    const apiKey = apiKeyOf(entry) ?? apiKeyOf(top);
    return {
      name,
      baseUrl,
      ...(webhookUrl && { webhookUrl }),
      ...(botUrl && { botUrl }),
      ...(apiKey && { apiKey }),
    };
  });

/** A problem of one entry beside the others. The text contains no value but a valid name. */
interface EntryProblem {
  index: number;
  field: EntryField;
  text: string;
}

/** Entries may be of any type: they have not been validated yet. */
function findGaps(list: List): EntryProblem[] {
  const text = "is missing; give it for each workspace, or once at the top of a YAML or JSON list";
  const gaps = list.workspaces.flatMap((entry, index): EntryProblem[] =>
    typeof entry === "object" && entry !== null && (entry.webhookUrl ?? list.webhookUrl) === undefined
      ? [{ index, field: "webhookUrl", text }]
      : [],
  );
  return [...findSameNames(list), ...gaps];
}

/** Entries whose name an earlier one already has. */
const findSameNames = ({ workspaces }: List): EntryProblem[] =>
  groupBy(workspaces.map((entry) => textOf(entry, "name"))).flatMap((indexes) =>
    indexes.slice(1).map((index) => ({ index, field: "name", text: "is there more than once" })),
  );

/**
 * Also the entries that reach one workspace, which has one webhook: same address, same API key. Each is reported. A plan queries
 * the workspaces, so it finds more of them than the list shows.
 */
function findClashes(list: List): EntryProblem[] {
  const { workspaces, ...top } = list;
  const commonKey = apiKeyOf(top);
  const same = groupBy(workspaces.map((entry) => identityOf(entry, commonKey))).flatMap((indexes) =>
    indexes.map((index): EntryProblem => {
      const other = indexes.find((one) => one !== index) ?? index;
      const name = textOf(workspaces[other], "name");
      const who = name !== undefined && WORKSPACE_NAME.test(name) ? `"${name}"` : `entry ${other + 1}`;
      const text = `reaches the same workspace as ${who}, with the same API key; a workspace has one webhook: keep one of them`;
      return { index, field: "baseUrl", text };
    }),
  );
  return [...findSameNames(list), ...same];
}

function identityOf(entry: unknown, commonKey: string | undefined): string | undefined {
  const baseUrl = textOf(entry, "baseUrl");
  if (baseUrl === undefined || URL.parse(baseUrl) === null) return undefined;
  const apiKeyEnv = textOf(entry, "apiKeyEnv");
  const own = apiKeyOf({ apiKey: textOf(entry, "apiKey"), apiKeyEnv });
  // A variable that is not set is a problem of its own; which key it will have is unknown.
  if (own === undefined && apiKeyEnv !== undefined) return undefined;
  return JSON.stringify([canonicalUrl(baseUrl), own ?? commonKey]);
}

/** The indexes of equal keys, where there are several. */
function groupBy(keys: readonly (string | undefined)[]): number[][] {
  const groups = Map.groupBy(keys.keys(), (index) => keys[index]);
  groups.delete(undefined);
  return [...groups.values()].filter((indexes) => indexes.length > 1);
}

function textOf(entry: unknown, field: EntryField): string | undefined {
  const value = (entry as Partial<Record<EntryField, unknown>> | null | undefined)?.[field];
  return typeof value === "string" ? value : undefined;
}
