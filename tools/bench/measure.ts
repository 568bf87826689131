/**
 * How everything here is measured: each side has its turn in every round, so that whatever else the machine does strikes
 * both alike, and the result is the median over the rounds. (A benchmark library measures one side after the other.)
 */

type Target = { atMost: number } | { atLeast: number };

/** One line of the table. */
export interface Measurement {
  what: string;
  against: string;
  /** The median of `rounds`. */
  value: number;
  unit: "ratio" | "ms" | "bytes" | "MiB" | "refused";
  target: Target;
  /** The value of each repetition, in the order of measuring. */
  rounds: number[];
}

/** A part of the benchmark that can be run by itself. */
export interface Row {
  /** As `--only` names it. */
  name: string;
  /** What is in progress, and how long that takes. */
  title: string;
  measure(context: RowContext): Promise<Measurement[]>;
}

/** What every turn needs. */
export interface Turns {
  /** Aborts on Ctrl-C: the row ends what it started, and rejects. */
  signal: AbortSignal;
  /** Shows how far the row is. */
  update: (detail: string) => void;
}

export interface RowContext extends Turns {
  /** How many webhooks the rows on the engine register. */
  webhooks: number;
  /** How often the rows on the engine are repeated. */
  engineRounds: number;
  /** How many workspaces the row `fleet` registers; the row `ten-times` registers ten times as many. */
  workspaces: number;
  /** How many of them a stack of the fleet has. */
  stackSize: number;
  /** How often the row `fleet` is repeated. */
  fleetRounds: number;
}

export function isReached({ value, target }: Measurement): boolean {
  return "atMost" in target ? value <= target.atMost : value >= target.atLeast;
}

/** How two values of one round become one. */
export const ratio = (ours: number, bare: number): number => ours / bare;
/** The ratio of two rates, from the times that the same work took. */
export const rateOfTimes = (ours: number, bare: number): number => bare / ours;
export const difference = (ours: number, bare: number): number => ours - bare;

export interface Claim extends Pick<Measurement, "what" | "against" | "target"> {
  /** Default: `ratio`. */
  unit?: Measurement["unit"];
  combine: (ours: number, bare: number) => number;
}

export function summarize(
  { combine, unit = "ratio", ...claim }: Claim,
  { ours, bare }: Record<"ours" | "bare", number[]>,
): Measurement {
  const rounds = ours.map((value, round) => combine(value, bare[round] ?? Number.NaN));
  return { ...claim, unit, value: median(rounds), rounds };
}

/** Something that is measured once, by itself. */
export function measureOnce(
  claim: Pick<Measurement, "what" | "target"> & { unit: Measurement["unit"]; value: number },
): Measurement {
  return { ...claim, against: "", rounds: [claim.value] };
}

export interface Rounds {
  rounds: number;
  /** Rounds before them that do not count. */
  warmUpRounds?: number;
  /** What is shown before the number of the round. */
  detail?: string;
}

/** Lets both sides have their turns, and summarizes what they return. */
export async function compare(
  turns: Turns,
  { ours, bare, ...claim }: Claim & Rounds & Record<"ours" | "bare", () => Promise<number>>,
): Promise<Measurement> {
  const { rounds, warmUpRounds = 0, detail = "", ...rest } = claim;
  return summarize(rest, await alternate(turns, { ours, bare }, { rounds, warmUpRounds, detail }));
}

/** Runs every side once in each round, and begins each round with another side. Gives what each side returned, by round. */
export async function alternate<Side extends string, Result>(
  { signal, update }: Turns,
  sides: Record<Side, () => Result | Promise<Result>>,
  { rounds, warmUpRounds = 0, detail = "" }: Rounds,
): Promise<Record<Side, Result[]>> {
  const names = Object.keys(sides) as Side[];
  const results = Object.fromEntries(names.map((name) => [name, [] as Result[]])) as Record<Side, Result[]>;
  for (let round = 1 - warmUpRounds; round <= rounds; round += 1) {
    const first = (round + warmUpRounds) % names.length;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      signal.throwIfAborted();
      update(round > 0 ? `${detail}round ${round} of ${rounds}` : `${detail}warming up`);
      const result = await sides[name]();
      if (round > 0) results[name].push(result);
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

/** The middle value; of an even number the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}
