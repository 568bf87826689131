import * as z from "zod";
import { findSameNames, findSameWorkspaces } from "./clashes.js";
import {
  apiKeyOf,
  commonFields,
  entryShape,
  refuseTwoKeys,
  wholeEntryShape,
  type KeySource,
  type ListReader,
} from "./entry-shape.js";
import type { ListedWorkspace } from "./list.js";

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
    tellClashes({ entries, defaults, reader, path: ["workspaces"] }, context);
    if (reader === "plan") tellMissingUrls(list, context);
  }, isList);

/** Entries alone: the rows of a CSV file, or a list that a program gives. */
export const entriesShape = (reader: ListReader) =>
  z
    .array(wholeEntryShape(reader))
    .min(1, NO_ENTRY)
    .superRefine(
      (entries, context) => tellClashes({ entries, defaults: {}, reader, path: [] }, context),
      isArray,
    );

// Entries are compared whatever else is wrong: all problems are told at once.
const isArray = { when: ({ value }: { value: unknown }) => Array.isArray(value) };
const isList = {
  when: ({ value }: { value: unknown }) =>
    typeof value === "object" && value !== null && "workspaces" in value && Array.isArray(value.workspaces),
};

interface Together {
  entries: readonly unknown[];
  defaults: KeySource;
  reader: ListReader;
  path: string[];
}

function tellClashes({ entries, defaults, reader, path }: Together, context: z.RefinementCtx): void {
  // A plan asks each workspace and tells those that are one: it sees more than the list does.
  const sameWorkspaces = reader === "fleet" ? findSameWorkspaces(entries, defaults) : [];
  for (const { index, field, text } of [...findSameNames(entries), ...sameWorkspaces]) {
    context.addIssue({ code: "custom", path: [...path, index, field], message: text });
  }
}

type List = z.output<ReturnType<typeof listShape>>;
type Entry = List["workspaces"][number];

function tellMissingUrls({ workspaces, webhookUrl }: List, context: z.RefinementCtx): void {
  if (webhookUrl !== undefined) return;
  for (const [index, entry] of workspaces.entries()) {
    if (typeof entry !== "object" || entry === null || entry.webhookUrl !== undefined) continue;
    const message = "is missing, and there is none at the top; must be a text";
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
