import * as fc from "fast-check";
import { test } from "vitest";
import type { EmulatorOptions } from "../../provider/emulator/index.js";
import { OPEN_POINTS } from "../../provider/emulator/open-points.js";
import * as step from "./commands.js";
import { PROVIDERS } from "./engine.js";
import { expectNoCounterexample, firstSeed } from "./search.js";
import { NAMES, World, WORKSPACES } from "./world.js";

const SUITE = "model";
const { MODEL_REPLAY_PATH } = process.env;
const replayPath = MODEL_REPLAY_PATH === undefined ? {} : { replayPath: MODEL_REPLAY_PATH };

const workspace = fc.constantFrom(...WORKSPACES);
const named = fc.tuple(workspace, fc.constantFrom(...NAMES));
const number = fc.nat(2);
const calls = fc.integer({ min: 1, max: 4 });
const kill = fc.record({ calls, when: fc.constantFrom("before", "after", "between") });
const provider = fc.constantFrom(...PROVIDERS);
const optional = { requiredKeys: [] };

const edited = fc.oneof(
  fc.record({ url: number }),
  fc.record({ key: number }),
  fc.record({ url: number, key: number }),
  fc.record({ isMoved: fc.boolean() }),
  fc.record({ onExisting: fc.constantFrom("fail", "replace") }),
  fc.record({ provider }),
  fc.record({ provider }),
);

const apiKeyStep = fc.constantFrom(
  step.rotateApiKey(),
  step.giveApiKey(),
  step.giveApiKey(),
  step.giveApiKey("the next"),
  step.takeKeyFrom("argument"),
  step.takeKeyFrom("environment"),
);

const operation = fc.constantFrom("get-webhook", "set-webhook", "set-webhook", "delete-webhook");
const fault = fc.constantFrom("lost", "refused", "refused late");
const nth = fc.integer({ min: 1, max: 3 });

const weigh = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
/** Commands with random arguments. */
const steps = <Args extends unknown[]>(make: (...args: Args) => step.Command, args: fc.Arbitrary<Args>) =>
  args.map((chosen) => make(...chosen));

const faulty = fc.oneof(
  weigh(15, steps(step.fault, fc.tuple(workspace, operation, fault, nth))),
  weigh(4, steps(step.fault, fc.tuple(workspace, fc.constant("handshake"), fc.constant("refused"), nth))),
  // A timeout takes five seconds.
  weigh(1, steps(step.fault, fc.tuple(workspace, operation, fc.constant("timed out"), nth))),
);
const replace = fc.subarray([...WORKSPACES], { minLength: 1 });
const upChoice = fc.oneof(
  fc.record({ replace, refresh: fc.boolean(), checksFirst: fc.boolean(), kill }, optional),
  fc.record(
    {
      replace,
      checksFirst: fc.boolean(),
      isParallel: fc.constant(true),
      kill: fc.record({ calls, when: fc.constant("between") }),
    },
    { requiredKeys: ["isParallel"] },
  ),
);
const renaming = fc.tuple(named, fc.boolean()).map(([args, alias]) => step.rename(...args, { alias }));

const command = fc.oneof(
  weigh(8, fc.constant(step.up())),
  weigh(8, upChoice.map(step.up)),
  weigh(4, fc.constantFrom(step.refresh(), step.refresh(), step.preview())),
  weigh(2, fc.record({ kill }, optional).map(step.destroy)),
  weigh(2, steps(step.declare, fc.tuple(workspace, fc.constantFrom(...NAMES), provider))),
  weigh(1, workspace.map(step.drop)),
  weigh(3, renaming),
  weigh(2, fc.constant(step.shiftNames())),
  weigh(4, steps(step.edit, fc.tuple(workspace, edited))),
  weigh(4, apiKeyStep),
  weigh(3, steps(step.outside, fc.tuple(workspace, fc.constantFrom(...step.OUTSIDE)))),
  weigh(3, faulty),
  weigh(1, fc.constantFrom(step.endpointIs("down"), step.endpointIs("up"))),
);

const readingOf = <Reading extends string>({ readings }: { readings: Record<Reading, string> }) =>
  fc.constantFrom(...(Object.keys(readings) as Reading[]));
const { handshake, failedHandshake, beforeFirstSet, errorShape } = OPEN_POINTS;

/** How the service may read those open points of the specification that affect registrations. */
const readings: fc.Arbitrary<EmulatorOptions> = fc.record(
  {
    handshake: fc.record({
      encoding: readingOf(handshake.encoding),
      challenge: readingOf(handshake.challenge),
    }),
    failedHandshake: readingOf(failedHandshake),
    beforeFirstSet: readingOf(beforeFirstSet),
    errorShape: readingOf(errorShape),
    maskKey: fc.boolean(),
    normalizeUrl: fc.boolean(),
  },
  optional,
);

test(`every command keeps the documented promises, from seed ${firstSeed(SUITE)}`, async () => {
  const commands = fc.commands([command], { maxCommands: 30, size: "max", ...replayPath });
  const property = fc.asyncProperty(readings, commands, async (reading, sequence) => {
    const world = await World.open(reading);
    try {
      await step.play(world, [
        step.declare("acme", "alpha"),
        step.declare("globex", "delta", "a"),
        step.up(),
      ]);
      await fc.asyncModelRun(() => ({ model: world, real: world }), sequence);
      await step.expectRecovery(world);
    } finally {
      await world.close();
    }
  });
  // With 3 seeds, as in `npm test`, this takes a few seconds.
  const search = { suite: SUITE, seconds: 600, runsPerSeed: 20, seeds: 3 };
  await expectNoCounterexample(property, { ...search, replay: "MODEL_REPLAY_PATH=<the replayPath above> " });
}, 3_600_000);
