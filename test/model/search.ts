import * as fc from "fast-check";

const { MODEL_SECONDS, MODEL_SEED, MODEL_PATH, npm_lifecycle_event: script } = process.env;

/** How a property is searched for a counterexample. */
interface Search {
  /** The script of package.json that searches longer and elsewhere. What it finds is played again with the variables that it prints. */
  script: string;
  /** How long that takes. */
  seconds: number;
  runsPerSeed: number;
  /** Seeds in `npm test`, which plays the same runs on every machine. */
  seeds: number;
  /** What else has to be given to play a failure again. */
  replay?: string;
}

/** The first seed that a script searches from. */
export const firstSeed = (ofScript: string): number =>
  Number(MODEL_SEED ?? (script === ofScript ? Date.now() % 2 ** 31 : 1));

/** One seed after the other, until the time is up. Throws the smallest counterexample. */
export async function expectNoCounterexample<T>(
  property: fc.IRawProperty<T>,
  { runsPerSeed: numRuns, replay = "", ...search }: Search,
): Promise<void> {
  const seconds = Number(MODEL_SECONDS ?? (script === search.script ? search.seconds : Infinity));
  const last = firstSeed(search.script) + (Number.isFinite(seconds) ? Infinity : search.seeds);
  const path = MODEL_PATH === undefined ? {} : { path: MODEL_PATH, endOnFailure: true };
  const end = performance.now() + seconds * 1000;
  for (let seed = firstSeed(search.script); seed < last && performance.now() < end; seed += 1) {
    const details = await fc.check(property, { seed, numRuns, ...path });
    if (details.failed) {
      const again = `MODEL_SEED=${seed} MODEL_PATH=${details.counterexamplePath} ${replay}npm run ${search.script}`;
      throw new Error(`${fc.defaultReportMessage(details)}\n\nAgain: ${again}`, {
        cause: details.errorInstance,
      });
    }
    if (MODEL_PATH !== undefined) return;
  }
}
