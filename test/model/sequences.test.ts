import { afterEach, beforeEach, test } from "vitest";
import * as step from "./commands.js";
import { World } from "./world.js";

let world: World;
beforeEach(async () => void (world = await World.open()));
afterEach(() => world.close());

const up = step.up();
const replace = step.up({ replace: ["acme"] });
const refreshingUp = step.up({ refresh: true });
const destroy = step.destroy();
const alias = step.rename("acme", "beta", { alias: true });
const move = step.edit("acme", { url: 1 });
const moveWithKey = step.edit("acme", { url: 1, key: 1 });
const takeBack = step.edit("acme", { url: 0, key: 0 });
const rotate = [step.rotateApiKey(), step.giveApiKey()];
const rotateAndRemove = [...rotate, up, step.outside("acme", "removed")];
const lostSet = step.fault("acme", "set-webhook", "lost");
const lostSecondGet = step.fault("acme", "get-webhook", "lost", 2);
const another = step.declare("globex", "delta");

/** Plays commands, and checks each against every promise. */
const expectKept = (...commands: step.Command[]): Promise<void> =>
  step.play(world, [step.declare("acme", "alpha"), up, ...commands]);

const swap = [another, up, step.shiftNames()];
const slow = (workspace: "acme" | "globex") => step.fault(workspace, "delete-webhook", "slow");
const replaceBoth = (choice: object) => step.up({ replace: ["acme", "globex"], ...choice });

/** Sequences that have failed before. Each begins with a registered webhook "alpha". */
test.each<[string, ...step.Command[]]>([
  ["a rename with an alias, and --replace in the next run", alias, up, move, replace, destroy],
  ["a rename with an alias, and --replace in the same run", alias, move, replace, destroy],
  ["a rotated API key, then a removed registration: refresh", ...rotateAndRemove, step.refresh(), up],
  ["a rotated API key, then a removed registration: up --refresh", ...rotateAndRemove, refreshingUp],
  ["a rotated API key, then a removed registration: up --replace", ...rotateAndRemove, replace],
  ["a rotated API key, then a removed registration: destroy", ...rotateAndRemove, destroy],
  ["an update with a lost response", move, lostSet, up, destroy],
  ["an update with a timeout", move, step.fault("acme", "set-webhook", "timed out"), up, destroy],
  [
    "an update with a lost response and a lost get-webhook after it",
    move,
    lostSet,
    lostSecondGet,
    up,
    destroy,
  ],
  ["an update of URL and key with a lost response, then reverted", moveWithKey, lostSet, up, takeBack, up],
  [
    "an update of URL and key with a lost response, then reverted and refreshed",
    moveWithKey,
    lostSet,
    up,
    takeBack,
    refreshingUp,
  ],
  ["a create with a timeout", another, step.fault("globex", "set-webhook", "timed out"), up, destroy],
  ["--replace, its confirmation lost", step.fault("acme", "get-webhook", "lost", 3), replace, destroy],
  ["--replace with a lost response of its delete", step.fault("acme", "delete-webhook", "lost"), replace, up],
  ["--replace with a timeout of its delete", step.fault("acme", "delete-webhook", "timed out"), replace, up],
  ["a rename, and the API key of an argument", step.rename("acme", "beta"), step.takeKeyFrom("argument"), up],
  ["swapped names, replaced one after the other", ...swap, replaceBoth({}), up],
  ["swapped names, replaced at once", ...swap, slow("globex"), replaceBoth({ isParallel: true }), up],
  [
    "swapped names, checked first and replaced at once",
    ...swap,
    slow("globex"),
    slow("acme"),
    replaceBoth({ isParallel: true, checksFirst: true }),
    up,
  ],
  [
    "a removed webhook whose workspace gets another name, while its own name moves",
    step.outside("acme", "removed"),
    step.rename("acme", "beta"),
    step.declare("globex", "alpha"),
    step.up({ checksFirst: true }),
    step.up({ replace: ["globex"] }),
    up,
    destroy,
  ],
  [
    "a replacement whose create fails, then a dropped webhook of its previous workspace",
    step.fault("acme", "get-webhook", "refused", 2),
    replace,
    step.drop("acme"),
    step.declare("globex", "alpha"),
    up,
    step.up({ replace: ["globex"] }),
    destroy,
  ],
  [
    "a replacement that is killed before its create, with a new URL",
    move,
    step.up({ replace: ["acme"], kill: { calls: 2, when: "before" } }),
    up,
    up,
    destroy,
  ],
])("keeps every promise: %s", (_, ...commands) => expectKept(...commands));
