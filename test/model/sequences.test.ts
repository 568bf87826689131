import { afterEach, beforeAll, beforeEach, describe, test } from "vitest";
import * as step from "./commands.js";
import { bundleProvider, type Provider } from "./provider-process.js";
import { World } from "./world.js";

let startProvider: () => Provider;
beforeAll(async () => void (startProvider = await bundleProvider()));

let world: World;
beforeEach(async () => void (world = await World.open(startProvider)));
afterEach(() => world.close());

/** Begins with a webhook "alpha" that is registered. Each command is held against every promise, as the random ones are. */
const expectKept = (...commands: step.Command[]): Promise<void> =>
  step.play(world, [step.declare("acme", "alpha"), step.up(), ...commands]);

describe("a rename with an alias, and --replace with another URL: destroy leaves nothing", () => {
  test("in two runs", () =>
    expectKept(
      step.rename("acme", "beta", { alias: true }),
      step.up(),
      step.edit("acme", { url: 1 }),
      step.up({ replace: "acme" }),
      step.destroy(),
    ));

  test("in one", () =>
    expectKept(
      step.rename("acme", "beta", { alias: true }),
      step.edit("acme", { url: 1 }),
      step.up({ replace: "acme" }),
      step.destroy(),
    ));
});

describe("a rotated API key", () => {
  test("is tried by the next up, though nothing else has changed", () =>
    expectKept(step.rotateApiKey(), step.giveApiKey(), step.up()));

  test.each([
    ["refresh and up", [step.refresh(), step.up()]],
    ["up --refresh", [step.up({ refresh: true })]],
    ["up --replace", [step.up({ replace: "acme" })]],
    ["destroy", [step.destroy()]],
  ])("that has reached the bot, then a removed registration: %s", (_way, commands) =>
    expectKept(
      step.rotateApiKey(),
      step.giveApiKey(),
      step.up(),
      step.outside("acme", "removed"),
      ...commands,
    ),
  );
});

describe("a set-webhook that took effect", () => {
  test.each(["lost", "timed out"] as const)("in an update, its answer %s: destroy leaves nothing", (what) =>
    expectKept(
      step.edit("acme", { url: 1 }),
      step.fault("acme", "set-webhook", what),
      step.up(),
      step.destroy(),
    ),
  );

  test("in an update, its answer and the look after it lost: destroy leaves nothing", () =>
    expectKept(
      step.edit("acme", { url: 1 }),
      step.fault("acme", "set-webhook", "lost"),
      step.fault("acme", "get-webhook", "lost", 2),
      step.up(),
      step.destroy(),
    ));

  test.each([
    ["up", [step.up()]],
    ["up --refresh", [step.up({ refresh: true })]],
  ])("in an update of URL and key, its answer lost, then the program is taken back: %s", (_way, commands) =>
    expectKept(
      step.edit("acme", { url: 1, key: 1 }),
      step.fault("acme", "set-webhook", "lost"),
      step.up(),
      step.edit("acme", { url: 0, key: 0 }),
      ...commands,
    ),
  );

  test.each(["lost", "timed out", "refused late"] as const)(
    "in a create, its answer %s: destroy leaves nothing",
    (what) =>
      expectKept(
        step.declare("globex", "delta"),
        step.fault("globex", "set-webhook", what),
        step.up(),
        step.destroy(),
      ),
  );

  test("in a create, its confirmation lost: destroy leaves nothing", () =>
    expectKept(
      step.declare("globex", "delta"),
      step.fault("globex", "get-webhook", "lost", 2),
      step.up(),
      step.destroy(),
    ));

  test("in the create of --replace, its confirmation lost: destroy leaves nothing", () =>
    expectKept(step.fault("acme", "get-webhook", "lost", 3), step.up({ replace: "acme" }), step.destroy()));
});

test.each(["lost", "timed out"] as const)(
  "a delete-webhook of --replace that took effect, its answer %s: the next up registers it again",
  (what) => expectKept(step.fault("acme", "delete-webhook", what), step.up({ replace: "acme" }), step.up()),
);

test("the old name of a webhook that lives on is deleted without an API key", () =>
  expectKept(step.rename("acme", "beta"), step.takeKeyFrom("argument"), step.up()));

test("an answer of get-webhook that is not JSON is quoted without the verification key", () =>
  expectKept(step.fault("acme", "get-webhook", "lost"), step.refresh()));
