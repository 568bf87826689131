const SIGNATURE = "4dabf18193072939515e22adb298388d";

/** Removes secret marks from a value, as the engine does. */
export function unmark(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(unmark);
  if (SIGNATURE in value) return unmark((value as { value?: unknown }).value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, unmark(inner)]));
}

type Method = (...parameters: never[]) => unknown;

/** Wraps a lifecycle to remove secret marks from its results, and from the states in its errors. */
export function unmarked<L extends object>(lifecycle: L): L {
  const methods = Object.entries(lifecycle as Record<string, Method>).map(([name, method]) => {
    if (name === "configure") return [name, method] as const;
    const plain = async (...parameters: never[]): Promise<unknown> => {
      try {
        return unmark(await method(...parameters));
      } catch (error) {
        if (!(error instanceof Error && "properties" in error)) throw error;
        throw Object.assign(error, { properties: unmark(error.properties) });
      }
    };
    return [name, plain] as const;
  });
  return Object.fromEntries(methods) as unknown as L;
}
