// How the engine marks a secret value in the properties of a resource.

/** Names of nested properties, outermost first. `*` stands for any name. */
export type Path = readonly string[];

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

export const isMarked = (value: object): value is { value: unknown } =>
  SIGNATURE in value && value[SIGNATURE] === SECRET;

/** Marks the values at these paths as secrets. Items of a list have the path of the list. Omits undefined values. */
export function markSecrets(values: object, secrets: readonly Path[]): object {
  const byName = Map.groupBy(
    secrets.filter((path) => path.length > 0),
    ([name]) => name,
  );
  const ofAny = byName.get("*") ?? [];
  const entries = Object.entries(values).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(
    entries.map(([name, inner]) => {
      const paths = [...(byName.get(name) ?? []), ...ofAny].map((path) => path.slice(1));
      const isSecret = paths.some((path) => path.length === 0);
      return [
        name,
        isSecret ? { [SIGNATURE]: SECRET, value: markWithin(inner, []) } : markWithin(inner, paths),
      ];
    }),
  );
}

function markWithin(value: unknown, secrets: readonly Path[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map((item) => markWithin(item, secrets)) : markSecrets(value, secrets);
}
