/** Represents a missing field. */
export const missing = Symbol("missing");

export const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Returns the value at a path. */
export const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((node, key) => (isContainer(node) ? node[key] : undefined), value);

/** Returns a copy in which the field at a path has this value, or is removed if the value is {@link missing}. */
export function putAt(valid: Record<string, unknown>, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(valid);
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const parent = valueAt(copy, keys);
  if (!isContainer(parent)) throw new Error(`the path ${path} leads nowhere`);
  if (value === missing) delete parent[last];
  else parent[last] = value;
  return copy;
}

/** Returns JSON in which a bigint is written with all its digits. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_, entry: unknown) => (typeof entry === "bigint" ? `#${entry}#` : entry)).replaceAll(
    /"#(-?\d+)#"/g,
    "$1",
  );
