import type { Registration } from "../../client/index.js";
import { looksMasked } from "../../resource/mask.js";
import { hideQuery } from "../../url.js";
import { toPlainText } from "../plain-text.js";

/** A registration for scripts: values of the query are hidden, and so is the key. */
export interface ShownRegistration {
  webhookUrl: string;
  status: string;
  botUrl: string;
  key: string;
}

/** Tells of the key whether there is one, and whether it is `ours`, where ours is known. */
export const toShown = (seen: Registration, ours?: string): ShownRegistration => ({
  webhookUrl: hideQuery(seen.webhookUrl),
  status: seen.status,
  botUrl: seen.botUrl,
  key: describeKey(seen.webhookVerificationKey, ours),
});

function describeKey(key: string, ours: string | undefined): string {
  if (key === "") return "not shown";
  if (ours !== undefined && key === ours) return "set, the same as yours";
  if (looksMasked(key)) return "set, masked by the service";
  return ours === undefined ? "set" : "set, another than yours";
}

/** A registration for people. */
export const formatRegistration = ({ webhookUrl, status, botUrl, key }: ShownRegistration): string =>
  [
    ["url", webhookUrl],
    ["status", status],
    ["bot url", botUrl],
    ["key", key],
  ]
    .map(([label = "", text = ""]) => `  ${label.padEnd(7)}  ${toPlainText(text)}\n`)
    .join("");
