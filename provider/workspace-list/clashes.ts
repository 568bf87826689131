import { WORKSPACE_NAME } from "../lib/checks.js";
import { canonicalUrl } from "../lib/url.js";
import { apiKeyOf, type KeySource } from "./entry-shape.js";

/** What two entries may not have in common. No value but a sound name is in it. */
export interface Clash {
  index: number;
  field: "name" | "baseUrl";
  text: string;
}

/** The entries whose name an earlier one has. Entries may be anything: they are looked at before they are known to be sound. */
export function findSameNames(entries: readonly unknown[]): Clash[] {
  const names = entries.map((entry) => textOf(entry, "name"));
  return groupBy(names).flatMap((indexes) =>
    indexes.slice(1).map((index): Clash => ({ index, field: "name", text: "is there more than once" })),
  );
}

/** The entries that reach one workspace, which has one webhook: same address, same API key. Each of them is told. */
export function findSameWorkspaces(entries: readonly unknown[], defaults: KeySource): Clash[] {
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
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return undefined;
  const apiKeyEnv = textOf(entry, "apiKeyEnv");
  const own = apiKeyOf({ apiKey: textOf(entry, "apiKey"), apiKeyEnv });
  // A variable that is not set is told as such; which key it will hold is not known.
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
