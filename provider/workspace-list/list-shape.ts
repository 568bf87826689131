import * as z from "zod";
import { WORKSPACE_NAME } from "../lib/checks.js";
import { canonicalUrl } from "../lib/url.js";
import {
  apiKeyOf,
  commonFields,
  entryShape,
  type KeySource,
  type ListedWorkspace,
  type ListReader,
  refuseTwoKeys,
  wholeEntryShape,
} from "./entry-shape.js";

const NO_ENTRY = { error: "must have at least one entry" };

/** A list whose top holds what its entries have in common: a file of YAML or JSON. */
export const listShape = (reader: ListReader) =>
  refuseTwoKeys(
    z.strictObject({
      ...commonFields,
      workspaces: z.array(entryShape(reader)).min(1, NO_ENTRY),
    }),
  ).superRefine((list, context) => {
    const { workspaces: entries, ...defaults } = list;
    reportClashes({ entries, defaults, reader, path: ["workspaces"] }, context);
    if (reader === "plan") reportMissingUrls(list, context);
  }, isList);

/** Entries alone: the rows of a CSV file, or a list that a program gives. */
export const entriesShape = (reader: ListReader) =>
  z
    .array(wholeEntryShape(reader))
    .min(1, NO_ENTRY)
    .superRefine(
      (entries, context) => reportClashes({ entries, defaults: {}, reader, path: [] }, context),
      isArray,
    );

// Entries are compared whatever else is wrong: all problems are reported at once.
const isArray = { when: ({ value }: { value: unknown }) => Array.isArray(value) };
const isList = {
  when: ({ value }: { value: unknown }) =>
    typeof value === "object" && value !== null && "workspaces" in value && Array.isArray(value.workspaces),
};

interface EntryChecks {
  entries: readonly unknown[];
  defaults: KeySource;
  reader: ListReader;
  path: string[];
}

function reportClashes({ entries, defaults, reader, path }: EntryChecks, context: z.RefinementCtx): void {
  // A plan asks each workspace and reports those that are one: it sees more than the list does.
  const sameWorkspaces = reader === "fleet" ? findSameWorkspaces(entries, defaults) : [];
  for (const { index, field, text } of [...findSameNames(entries), ...sameWorkspaces]) {
    context.addIssue({ code: "custom", path: [...path, index, field], message: text });
  }
}

type List = z.output<ReturnType<typeof listShape>>;
type Entry = List["workspaces"][number];

function reportMissingUrls({ workspaces, webhookUrl }: List, context: z.RefinementCtx): void {
  if (webhookUrl !== undefined) return;
  for (const [index, entry] of workspaces.entries()) {
    if (typeof entry !== "object" || entry === null || entry.webhookUrl !== undefined) continue;
    const message = "is missing, both here and at the top of the list";
    context.addIssue({ code: "custom", path: ["workspaces", index, "webhookUrl"], message });
  }
}

/** The workspaces of a list, each with what stands at the top. */
export const workspacesOf = ({ workspaces, ...defaults }: List): ListedWorkspace[] =>
  workspaces.map((entry) => toWorkspace(entry, defaults));

/** One workspace. A field that is not given is left out. */
export function toWorkspace(
  entry: Entry,
  defaults: KeySource & { webhookUrl?: string } = {},
): ListedWorkspace {
  const { name, baseUrl, botUrl } = entry;
  const webhookUrl = entry.webhookUrl ?? defaults.webhookUrl;
  const apiKey = apiKeyOf(entry) ?? apiKeyOf(defaults);
  return {
    name,
    baseUrl,
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
    ...(botUrl === undefined ? {} : { botUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

/** What two entries may not have in common. No value but a sound name is in it. */
interface Clash {
  index: number;
  field: "name" | "baseUrl";
  text: string;
}

/** Entries whose name an earlier one already has. Entries may be of any type: they have not been validated yet. */
function findSameNames(entries: readonly unknown[]): Clash[] {
  const names = entries.map((entry) => textOf(entry, "name"));
  return groupBy(names).flatMap((indexes) =>
    indexes.slice(1).map((index): Clash => ({ index, field: "name", text: "is there more than once" })),
  );
}

/** The entries that reach one workspace, which has one webhook: same address, same API key. Each of them is reported. */
function findSameWorkspaces(entries: readonly unknown[], defaults: KeySource): Clash[] {
  const common = apiKeyOf(defaults);
  return groupBy(entries.map((entry) => identityOf(entry, common))).flatMap((indexes) =>
    indexes.map((index): Clash => {
      const other = indexes.find((one) => one !== index) ?? index;
      const who = nameOf(entries, other);
      const text = `reaches the same workspace as ${who}, with the same API key; a workspace has one webhook: keep one of them`;
      return { index, field: "baseUrl", text };
    }),
  );
}

function identityOf(entry: unknown, commonKey: string | undefined): string | undefined {
  const baseUrl = textOf(entry, "baseUrl");
  if (baseUrl === undefined || URL.parse(baseUrl) === null) return undefined;
  const apiKeyEnv = textOf(entry, "apiKeyEnv");
  const own = apiKeyOf({ apiKey: textOf(entry, "apiKey"), apiKeyEnv });
  // A variable that is not set is reported as such; which key it will hold is not known.
  if (own === undefined && apiKeyEnv !== undefined) return undefined;
  return JSON.stringify([canonicalUrl(baseUrl), own ?? commonKey]);
}

function nameOf(entries: readonly unknown[], index: number): string {
  const name = textOf(entries[index], "name");
  return name !== undefined && WORKSPACE_NAME.test(name) ? `"${name}"` : `entry ${index + 1}`;
}

/** The indexes of equal keys, where there are several. */
function groupBy(keys: readonly (string | undefined)[]): number[][] {
  const groups = Map.groupBy(keys.keys(), (index) => keys[index]);
  groups.delete(undefined);
  return [...groups.values()].filter((indexes) => indexes.length > 1);
}

function textOf(entry: unknown, field: string): string | undefined {
  if (typeof entry !== "object" || entry === null) return undefined;
  const value = (entry as Record<string, unknown>)[field];
  return typeof value === "string" ? value : undefined;
}
