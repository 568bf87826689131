/** The middle value; of an even number the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}

/** Between which two values the middle half lies: how noisy the rounds were, without the few that were struck by chance. */
export function middleHalf(values: readonly number[]): [low: number, high: number] {
  const sorted = values.toSorted((a, b) => a - b);
  const last = sorted.length - 1;
  const low = sorted[Math.floor(last / 4)] ?? Number.NaN;
  return [low, sorted[Math.ceil((last * 3) / 4)] ?? low];
}

/** Each value of one list with its partner in the other. */
export function pairwise(
  left: readonly number[],
  right: readonly number[],
  combine: (left: number, right: number) => number,
): number[] {
  return left.map((value, index) => combine(value, right[index] ?? Number.NaN));
}

export interface AlternateOptions {
  rounds: number;
  signal: AbortSignal;
  /** Called before each turn. */
  onTurn?: (side: string, round: number) => void;
}

/**
 * Runs every side once in each round, so that what else happens on the machine strikes them alike, and begins each round
 * with another side. Gives what each side returned, by round.
 */
export async function alternate<Side extends string, Result>(
  sides: Record<Side, () => Result | Promise<Result>>,
  { rounds, signal, onTurn }: AlternateOptions,
): Promise<Record<Side, Result[]>> {
  const names = Object.keys(sides) as Side[];
  const results = Object.fromEntries(names.map((name) => [name, [] as Result[]])) as Record<Side, Result[]>;
  for (let round = 1; round <= rounds; round += 1) {
    const first = round % names.length;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      signal.throwIfAborted();
      onTurn?.(name, round);
      results[name].push(await sides[name]());
    }
  }
  return results;
}

/** How long `work` takes, in milliseconds. */
export async function timeOf(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
