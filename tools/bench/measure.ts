/** Measures in turns, so that other load of the machine affects all sides alike. */
import { Bench } from "tinybench";

/** The values of each side, one for each round. */
export type Samples = Record<string, number[]>;

export interface Context {
  /** Aborts on Ctrl-C: the row ends what it started, and rejects. */
  signal: AbortSignal;
  /** Shows the progress of the row. */
  update: (detail: string) => void;
  /** How many webhooks the engine's benchmarks register, and how often they are repeated. */
  webhooks: number;
  rounds: number;
  /** The number of workspaces in the row `fleet`. */
  workspaces: number;
}

type Sides<Result> = Record<string, () => Promise<Result> | Result>;

/** The number of measured rounds, and of warm-up rounds before them. */
interface Rounds {
  rounds: number;
  warmUp?: number;
}

/**
 * Runs every side once in each round, and starts each round with a different side. Returns the results of
 * each side, by round.
 */
export async function alternate<Result>(
  { signal, update }: Pick<Context, "signal" | "update">,
  sides: Sides<Result>,
  { rounds, warmUp = 0 }: Rounds,
): Promise<Record<string, Result[]>> {
  const all = Object.entries(sides);
  const results: Record<string, Result[]> = Object.fromEntries(all.map(([name]) => [name, []]));
  for (let round = 1 - warmUp; round <= rounds; round += 1) {
    const first = (round + warmUp) % all.length;
    for (const [name, run] of [...all.slice(first), ...all.slice(0, first)]) {
      signal.throwIfAborted();
      update(round > 0 ? `${name}, round ${round} of ${rounds}` : `${name}, warming up`);
      const result = await run();
      if (round > 0) results[name]?.push(result);
    }
  }
  return results;
}

/** Measures how often a second each side does its work. */
export function rates(context: Context, sides: Sides<unknown>, rounds: Rounds): Promise<Samples> {
  const turns = Object.entries(sides).map(([name, work]) => [name, () => medianRate(name, work)] as const);
  return alternate(context, Object.fromEntries(turns), rounds);
}

async function medianRate(name: string, work: () => unknown): Promise<number> {
  const bench = new Bench({ time: 30, iterations: 5, warmup: false, throws: true });
  const [task] = await bench.add(name, work).run();
  if (task?.result.state !== "completed") throw new Error(`${name} was not measured`);
  return 1000 / task.result.latency.p50;
}

/** Returns the time that `work` takes, in milliseconds. */
export async function timeOf(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Returns a quantile: 0 is the smallest value and 1 the largest, with the mean of two neighbours between values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return (low + high) / 2;
}
