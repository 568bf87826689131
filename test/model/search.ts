import * as fc from "fast-check";

const { MODEL_SECONDS, MODEL_SEED, MODEL_PATH, TEST_SUITE } = process.env;

/** Options of the search for a counterexample. */
interface Search {
  /** The suite (tools/suite.ts) that searches longer, from a random seed. It also repeats a failure that was found. */
  suite: string;
  /** How long the suite searches. */
  seconds: number;
  runsPerSeed: number;
  /** How many seeds `npm test` tries. They are the same on every machine. */
  seeds: number;
  /** More environment variables for the command that repeats a failure. */
  replay?: string;
}

/** The first seed of the search: a random one while this suite runs, else 1. */
export const firstSeed = (suite: string): number =>
  Number(MODEL_SEED ?? (TEST_SUITE === suite ? Date.now() % 2 ** 31 : 1));

/** Tries seeds until the time is up. Throws an error with the smallest counterexample. */
export async function expectNoCounterexample<T>(
  property: fc.IRawProperty<T>,
  { runsPerSeed: numRuns, replay = "", ...search }: Search,
): Promise<void> {
  const seconds = Number(MODEL_SECONDS ?? (TEST_SUITE === search.suite ? search.seconds : Infinity));
  const last = firstSeed(search.suite) + (Number.isFinite(seconds) ? Infinity : search.seeds);
  const path = MODEL_PATH === undefined ? {} : { path: MODEL_PATH, endOnFailure: true };
  const end = performance.now() + seconds * 1000;
  for (let seed = firstSeed(search.suite); seed < last && performance.now() < end; seed += 1) {
    const details = await fc.check(property, { seed, numRuns, ...path });
    if (details.failed) {
      const variables = `MODEL_SEED=${seed} MODEL_PATH=${details.counterexamplePath}`;
      const again = `${variables} ${replay}npm run suite ${search.suite}`;
      throw new Error(`${fc.defaultReportMessage(details)}\n\nAgain: ${again}`, {
        cause: details.errorInstance,
      });
    }
    if (MODEL_PATH !== undefined) return;
  }
}
