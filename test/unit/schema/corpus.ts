import { inboundCorpus } from "./corpus-inbound.js";
import { outboundCorpus } from "./corpus-outbound.js";
import { receivedCorpus } from "./corpus-received.js";
import { registrationCorpus } from "./corpus-registration.js";
import { missing, type CorpusEntry } from "./corpus-values.js";

/** The corpus that zod and the JSON Schema must judge alike. */
export const corpus: readonly CorpusEntry[] = [
  ...registrationCorpus,
  ...inboundCorpus,
  ...outboundCorpus,
  ...receivedCorpus,
];

/** The right value of a shape with another value, or {@link missing}, at one path. */
export function putAt(valid: Record<string, unknown>, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(valid);
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const parent = keys.reduce<Record<string, unknown>>((node, key) => {
    const child = node[key];
    if (!isContainer(child)) throw new Error(`no ${key} in the path ${path}`);
    return child;
  }, copy);
  if (value === missing) delete parent[last];
  else parent[last] = value;
  return copy;
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** JSON with the digits of a bigint written out. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === "bigint" ? `#${entry}#` : entry,
  );
  return text.replaceAll(/"#(-?\d+)#"/g, "$1");
}
