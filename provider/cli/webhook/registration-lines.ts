import type { Registration } from "../../client/index.js";
import { looksMasked } from "../../lib/checks.js";
import { hideQuery } from "../../lib/url.js";
import { toPlainText } from "../plain-text.js";

/** A registration for scripts: values of the query are hidden, and so is the key unless it is asked for. */
export interface ShownRegistration {
  webhookUrl: string;
  status: string;
  botUrl: string;
  /** Whether the key is ours; null if ours is not known, or the service does not show its own. */
  keyMatches: boolean | null;
  key?: string;
}

/** What is ours, to compare with, and whether the key is to be shown. */
export interface ShowOptions {
  ours?: string | undefined;
  showKey?: boolean | undefined;
}

/** For scripts. */
export const toShown = (seen: Registration, { ours, showKey }: ShowOptions): ShownRegistration => ({
  webhookUrl: hideQuery(seen.webhookUrl),
  status: seen.status,
  botUrl: seen.botUrl,
  keyMatches: compareKeys(seen.webhookVerificationKey, ours),
  ...(showKey ? { key: seen.webhookVerificationKey } : {}),
});

function compareKeys(key: string, ours: string | undefined): boolean | null {
  if (ours === undefined || key === "") return null;
  if (key === ours) return true;
  return looksMasked(key) ? null : false;
}

function describeKey(key: string, ours: string | undefined): string {
  if (key === "") return "not shown";
  const matches = compareKeys(key, ours);
  if (matches !== null) return matches ? "set, the same as yours" : "set, another than yours";
  return looksMasked(key) ? "set, masked by the service" : "set";
}

/** For people. */
export const formatRegistration = (seen: Registration, { ours, showKey }: ShowOptions): string =>
  [
    ["url", hideQuery(seen.webhookUrl)],
    ["status", seen.status],
    ["bot url", seen.botUrl],
    ["key", showKey ? seen.webhookVerificationKey : describeKey(seen.webhookVerificationKey, ours)],
  ]
    .map(([label = "", text = ""]) => `  ${label.padEnd(7)}  ${toPlainText(text)}\n`)
    .join("");
