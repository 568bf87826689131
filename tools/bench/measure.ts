/** Measures in turns, so that other load on the machine affects all sides alike. */

/** The values of each side, one for each round. */
export type Samples = Record<string, number[]>;

export interface Context {
  /** Aborts on Ctrl-C: the row ends what it started, and rejects. */
  signal: AbortSignal;
  /** Shows the progress of the row. */
  update: (detail: string) => void;
  /** The number of workspaces in the row `fleet`. */
  workspaces: number;
}

/**
 * Runs every side once in each round, and starts each round with a different side. Returns the results of
 * each side, by round. A warm-up round comes first; its results are not returned.
 */
export async function alternate<Result>(
  { signal, update }: Pick<Context, "signal" | "update">,
  rounds: number,
  sides: Record<string, () => Promise<Result>>,
): Promise<Record<string, Result[]>> {
  const all = Object.entries(sides);
  const results: Record<string, Result[]> = Object.fromEntries(all.map(([name]) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    const first = round % all.length;
    for (const [name, run] of [...all.slice(first), ...all.slice(0, first)]) {
      signal.throwIfAborted();
      update(round > 0 ? `${name}, round ${round} of ${rounds}` : `${name}, warming up`);
      const result = await run();
      if (round > 0) results[name]?.push(result);
    }
  }
  return results;
}

/** Returns the time that `work` takes, in milliseconds. */
export async function timeOf(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Returns a quantile: 0 is the smallest value, 1 the largest. If it is between two values, returns their mean. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return (low + high) / 2;
}
