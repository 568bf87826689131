import type { Failure, Outcome } from "../reports.js";
import type { RunContext } from "../run-context.js";
import type { BegunStack } from "./keys.js";
import { runWave, type RotationRun, type WaveRun } from "./wave.js";
import type { ResolvedStack } from "../resolve.js";

/** One wave of a rotation. */
export interface RotationWave {
  stacks: string[];
  /** `done`: rotated and verified. `stopped`: ended early, or not begun. */
  outcome: Outcome;
  /** How many webhooks got another key than they had. */
  rotated: number;
  failures: Failure[];
}

/** What became of all waves. */
export interface WavesRun {
  outcome: Outcome;
  waves: RotationWave[];
  begun: BegunStack[];
  notBegun: ResolvedStack[];
  failures: Failure[];
  stoppedBy?: string;
}

/** One stack alone, unless an earlier run has some done, and then so many at a time. */
export function splitIntoWaves(
  places: readonly ResolvedStack[],
  { waveSize, isBegun }: { waveSize: number; isBegun: boolean },
): ResolvedStack[][] {
  const first = isBegun ? [] : places.slice(0, 1);
  const rest = places.slice(first.length);
  const others = Array.from({ length: Math.ceil(rest.length / waveSize) }, (_, index) =>
    rest.slice(index * waveSize, (index + 1) * waveSize),
  );
  return first.length > 0 ? [first, ...others] : others;
}

/** Runs one wave after the other. The first that is not done is the last. */
export async function runWaves(
  run: RunContext,
  rotation: RotationRun,
  planned: readonly (readonly ResolvedStack[])[],
): Promise<WavesRun> {
  const { onEvent } = rotation.options;
  const ran: WaveRun[] = [];
  for (const [index, places] of planned.entries()) {
    const position = { wave: index + 1, waves: planned.length };
    onEvent?.({ type: "wave-started", ...position, stacks: places.map(({ name }) => name) });
    const wave = await runWave(run, rotation, places);
    ran.push(wave);
    onEvent?.({ type: "wave-ended", ...position, outcome: wave.outcome });
    if (wave.outcome !== "done") break;
  }
  return sumUp(planned, ran);
}

function sumUp(planned: readonly (readonly ResolvedStack[])[], ran: readonly WaveRun[]): WavesRun {
  const begun = ran.flatMap((wave) => wave.begun);
  const names = new Set(begun.map(({ place }) => place.name));
  const stoppedBy = ran.at(-1)?.stoppedBy ?? describeStop(ran, planned.length);
  return {
    outcome: ran.at(-1)?.outcome ?? "done",
    waves: planned.map((places, index) => toWave(places, ran[index])),
    begun,
    notBegun: planned.flat().filter(({ name }) => !names.has(name)),
    failures: ran.flatMap(({ failures }) => failures),
    ...(stoppedBy === undefined ? {} : { stoppedBy }),
  };
}

const toWave = (places: readonly ResolvedStack[], ran: WaveRun | undefined): RotationWave => ({
  stacks: places.map(({ name }) => name),
  outcome: ran?.outcome ?? "stopped",
  rotated: ran?.changed ?? 0,
  failures: ran?.failures ?? [],
});

function describeStop(ran: readonly WaveRun[], waves: number): string | undefined {
  if (ran.at(-1)?.outcome !== "failed") return undefined;
  const later = ran.length < waves ? ", so no later one was begun" : "";
  return `wave ${ran.length} of ${waves} failed${later}; fix it, then go on with rotate --resume`;
}
