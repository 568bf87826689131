/** What a value has to be. */
type Target = { atMost: number } | { atLeast: number };

/** One line of the table. */
export interface Measurement {
  what: string;
  against: string;
  /** The median of `rounds`. */
  value: number;
  unit: "ratio" | "ms" | "bytes";
  target: Target;
  /** The value of each repetition, in the order of measuring. */
  rounds: number[];
  /** What was measured on each side, in the same order: milliseconds, or bytes where `unit` or `what` says so. */
  samples: Record<string, number[]>;
}

/** A part of the benchmark that can be run by itself. */
export interface Row {
  /** As `--only` names it. */
  name: string;
  /** What is under way, and how long that takes. */
  title: string;
  measure(context: RowContext): Promise<Measurement[]>;
}

export interface RowContext {
  /** How many webhooks the rows on the engine register. */
  webhooks: number;
  /** How often the rows on the engine are repeated. */
  engineRounds: number;
  /** How many workspaces the rows of the fleet register at most. */
  workspaces: number;
  /** How often the row `fleet` is repeated. */
  fleetRounds: number;
  /** Aborts on Ctrl-C: the row ends what it started, and rejects. */
  signal: AbortSignal;
  /** Says how far the row is. */
  update: (detail: string) => void;
}

export function isReached({ value, target }: Measurement): boolean {
  return "atMost" in target ? value <= target.atMost : value >= target.atLeast;
}
