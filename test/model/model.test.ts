import * as fc from "fast-check";
import { test } from "vitest";
import type { EmulatorOptions } from "../../provider/emulator/index.js";
import * as step from "./commands.js";
import { bundleProvider } from "./provider-process.js";
import { NAMES, World, WORKSPACES } from "./world.js";

/** `npm run test:model` looks longer and elsewhere; what it finds is played again with the variables that it prints. */
const isLong = process.env["npm_lifecycle_event"] === "test:model";
const { MODEL_SECONDS, MODEL_SEED, MODEL_PATH, MODEL_REPLAY_PATH } = process.env;

const SECONDS = Number(MODEL_SECONDS ?? (isLong ? 600 : Infinity));
const FIRST_SEED = Number(MODEL_SEED ?? (isLong ? Date.now() % 2 ** 31 : 1));
/** Some seconds in `npm test`, which plays the same sequences on every machine. */
const SEEDS = Number.isFinite(SECONDS) ? Infinity : 6;
const RUNS_PER_SEED = 20;
const path = MODEL_PATH === undefined ? {} : { path: MODEL_PATH, endOnFailure: true };
const replayPath = MODEL_REPLAY_PATH === undefined ? {} : { replayPath: MODEL_REPLAY_PATH };

const workspace = fc.constantFrom(...WORKSPACES);
const named = workspace.chain((one) => fc.tuple(fc.constant(one), fc.constantFrom(...NAMES[one])));
const number = fc.nat(2);
const kill = fc.record({ calls: fc.integer({ min: 1, max: 4 }), when: fc.constantFrom("before", "after") });
const optional = { requiredKeys: [] };

const edited = fc.oneof(
  fc.record({ url: number }),
  fc.record({ key: number }),
  fc.record({ url: number, key: number }),
  fc.record({ isMoved: fc.boolean() }),
  fc.record({ onExisting: fc.constantFrom("fail", "replace") }),
);

const apiKeyStep = fc.constantFrom(
  step.rotateApiKey(),
  step.giveApiKey(),
  step.giveApiKey(),
  step.giveApiKey("the next"),
  step.takeKeyFrom("argument"),
  step.takeKeyFrom("config"),
  step.takeKeyFrom("environment"),
);

const operation = fc.constantFrom("get-webhook", "set-webhook", "set-webhook", "delete-webhook");
const nth = fc.integer({ min: 1, max: 3 });
const faulty = fc.oneof(
  {
    weight: 15,
    arbitrary: fc
      .tuple(workspace, operation, fc.constantFrom("lost", "refused", "refused late"), nth)
      .map((args) => step.fault(...args)),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(workspace, nth).map(([where, at]) => step.fault(where, "handshake", "refused", at)),
  },
  {
    // Each takes a second.
    weight: 1,
    arbitrary: fc
      .tuple(workspace, operation, nth)
      .map(([where, what, at]) => step.fault(where, what, "timed out", at)),
  },
);

const command = fc.oneof(
  { weight: 8, arbitrary: fc.constant(step.up()) },
  {
    weight: 8,
    arbitrary: fc
      .record({ replace: workspace, refresh: fc.boolean(), checksFirst: fc.boolean(), kill }, optional)
      .map(step.up),
  },
  { weight: 4, arbitrary: fc.constantFrom(step.refresh(), step.refresh(), step.preview()) },
  { weight: 2, arbitrary: fc.record({ kill }, optional).map(step.destroy) },
  { weight: 2, arbitrary: named.map((args) => step.declare(...args)) },
  { weight: 1, arbitrary: workspace.map(step.drop) },
  {
    weight: 3,
    arbitrary: fc.tuple(named, fc.boolean()).map(([args, alias]) => step.rename(...args, { alias })),
  },
  { weight: 4, arbitrary: fc.tuple(workspace, edited).map((args) => step.edit(...args)) },
  { weight: 4, arbitrary: apiKeyStep },
  {
    weight: 3,
    arbitrary: fc.tuple(workspace, fc.constantFrom(...step.OUTSIDE)).map((args) => step.outside(...args)),
  },
  { weight: 3, arbitrary: faulty },
  { weight: 1, arbitrary: fc.constantFrom(step.endpointIs("down"), step.endpointIs("up")) },
);

/** How the service reads the open points of the specification. */
const readings: fc.Arbitrary<EmulatorOptions> = fc.record(
  {
    maskKey: fc.boolean(),
    normalizeUrl: fc.boolean(),
    failedHandshake: fc.constantFrom("keeps", "clears", "unverified"),
    beforeFirstSet: fc.constantFrom("empty-strings", "nulls", "not-found"),
  },
  optional,
);

test(`every command keeps the promises of the documentation, from seed ${FIRST_SEED}`, async () => {
  const startProvider = await bundleProvider();
  const commands = fc.commands([command], { maxCommands: 30, size: "max", ...replayPath });
  const property = fc.asyncProperty(readings, commands, async (reading, sequence) => {
    const world = await World.open(startProvider, reading);
    try {
      await step.play(world, [step.declare("acme", "alpha"), step.declare("globex", "delta"), step.up()]);
      await fc.asyncModelRun(() => ({ model: world, real: world }), sequence);
      await step.expectRecovery(world);
    } finally {
      await world.close();
    }
  });
  await expectNoCounterexample(property);
}, 3_600_000);

/** One seed after the other, until the time is up. */
async function expectNoCounterexample(
  property: fc.IAsyncProperty<[EmulatorOptions, Iterable<step.Command>]>,
): Promise<void> {
  const end = performance.now() + SECONDS * 1000;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && performance.now() < end; seed += 1) {
    const details = await fc.check(property, { seed, numRuns: RUNS_PER_SEED, ...path });
    if (details.failed) {
      const again = `MODEL_SEED=${seed} MODEL_PATH=${details.counterexamplePath} MODEL_REPLAY_PATH=<the replayPath above> npm run test:model`;
      throw new Error(`${fc.defaultReportMessage(details)}\n\nAgain: ${again}`, {
        cause: details.errorInstance,
      });
    }
    if (MODEL_PATH !== undefined) return;
  }
}
