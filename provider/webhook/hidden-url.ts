import { printUrl } from "../lib/url.js";

/** A change of a URL that a preview does not show, because it is a secret. Both are printed without their query values. */
export interface HiddenUrlChange {
  property: "webhookUrl" | "baseUrl";
  from: string;
  to: string;
}

/** What stands in place of a URL that is not known yet. */
const UNKNOWN_URL = "[unknown]";

/** The line that names such a change; undefined stands for a URL that is not known yet. {@link parseHiddenUrl} reads it. */
export function formatHiddenUrl(
  property: HiddenUrlChange["property"],
  urls: readonly (string | undefined)[],
): string {
  const [from, to] = urls.map((url) => (url === undefined ? UNKNOWN_URL : printUrl(url)));
  return `${property} changes${from === to ? " in its query" : ""}: ${from} => ${to}`;
}

/** Reads a line of {@link formatHiddenUrl}; undefined for every other line. */
export function parseHiddenUrl(line: string): HiddenUrlChange | undefined {
  const [, property, from, to] =
    /^(webhookUrl|baseUrl) changes(?: in its query)?: (\S+) => (\S+)$/.exec(line) ?? [];
  if (from === undefined || to === undefined) return undefined;
  return { property: property as HiddenUrlChange["property"], from, to };
}
