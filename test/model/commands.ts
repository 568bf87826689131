import type { AsyncCommand } from "fast-check";
import { expect } from "vitest";
import type { FaultRule } from "../../provider/emulator/index.js";
import type { Kill, ProviderName, Stored } from "./engine.js";
import { isOfOtherBot, isProven, judge } from "./promises.js";
import { SECRETS, WORKSPACES, type Declaration, type World, type WorkspaceName } from "./world.js";

/** A step of a random sequence. fast-check's model is the world itself: it records what was declared and changed. */
export type Command = AsyncCommand<World, World>;

function command(
  label: string,
  run: (world: World) => void | Promise<void>,
  isPossible: (world: World) => boolean = () => true,
): Command {
  return { check: isPossible, run: async (_model, world) => run(world), toString: () => label };
}

const show = (choice: object): string => (Object.keys(choice).length === 0 ? "" : JSON.stringify(choice));

interface UpChoice {
  replace?: readonly WorkspaceName[];
  refresh?: boolean;
  checksFirst?: boolean;
  /** Not together with a `kill` that ends the whole run: the other steps would still start. */
  isParallel?: boolean;
  kill?: Kill;
}

export const up = (choice: UpChoice = {}): Command =>
  command(
    `up(${show(choice)})`,
    async (world) => {
      const { replace: targets = [], ...options } = choice;
      const replace = targets.map((target) => world.program.get(target)?.name ?? "");
      const work = () => world.engine.up(world.goals(), { ...options, replace });
      judge(world, await world.run("up", work, choice));
    },
    ({ program }) => choice.replace?.every((target) => program.has(target)) ?? true,
  );

export const preview = (): Command =>
  command("preview()", async (world) => {
    const work = () => world.engine.preview(world.goals());
    judge(world, await world.run("preview", work));
  });

export const refresh = (): Command =>
  command("refresh()", async (world) =>
    judge(world, await world.run("refresh", () => world.engine.refresh())),
  );

export const destroy = (choice: { kill?: Kill } = {}): Command =>
  command(`destroy(${show(choice)})`, async (world) => {
    judge(world, await world.run("destroy", () => world.engine.destroy(choice.kill)));
  });

/** `pulumi state delete`. */
const forget = ({ name, id }: Stored): Command =>
  command(`forget(${name})`, ({ engine }) => engine.forget(name, id));

const isDeclared =
  (workspace: WorkspaceName) =>
  ({ program }: World): boolean =>
    program.has(workspace);

/** Whether a resource may get this name: only if no other resource has it as its name or as an alias. */
const isFree = ({ program }: World, name: string, except?: WorkspaceName): boolean =>
  [...program].every(
    ([workspace, declared]) => workspace === except || ![declared.name, ...declared.aliases].includes(name),
  );

export const declare = (
  workspace: WorkspaceName,
  name: string,
  provider: ProviderName = "dynamic",
): Command =>
  command(
    `declare(${workspace}, ${name}, ${provider})`,
    ({ program }) =>
      void program.set(workspace, {
        name,
        aliases: [],
        provider,
        url: 0,
        key: 0,
        isMoved: false,
        onExisting: "fail",
      }),
    (world) => !world.program.has(workspace) && isFree(world, name),
  );

export const drop = (workspace: WorkspaceName): Command =>
  command(`drop(${workspace})`, ({ program }) => void program.delete(workspace), isDeclared(workspace));

/** Renames a resource. With `alias`, adds the old name to its aliases; without, drops all aliases. */
export const rename = (workspace: WorkspaceName, name: string, { alias = false } = {}): Command =>
  command(
    `rename(${workspace}, ${name}${alias ? ", with an alias" : ""})`,
    ({ program }) => {
      const declared = program.get(workspace);
      const old = alias && declared ? [declared.name, ...declared.aliases] : [];
      Object.assign(declared ?? {}, { name, aliases: old.filter((one) => one !== name) });
    },
    (world) =>
      world.program.has(workspace) &&
      world.program.get(workspace)?.name !== name &&
      isFree(world, name, workspace),
  );

/** Renames each declared webhook, without aliases, to the previous one's name (the first, to the last one's). */
export const shiftNames = (): Command =>
  command(
    "shiftNames()",
    ({ program }) => {
      const declared = [...program.values()];
      const names = declared.map(({ name }) => name);
      for (const [index, one] of declared.entries())
        Object.assign(one, { name: names.at(index - 1), aliases: [] });
    },
    ({ program }) => program.size > 1,
  );

type Edit = Partial<Pick<Declaration, "url" | "key" | "isMoved" | "provider" | "onExisting">>;

export const edit = (workspace: WorkspaceName, edited: Edit): Command =>
  command(
    `edit(${workspace}, ${show(edited)})`,
    ({ program }) => void Object.assign(program.get(workspace) ?? {}, edited),
    isDeclared(workspace),
  );

export const takeKeyFrom = (source: World["keySource"]): Command =>
  command(`takeKeyFrom(${source})`, (world) => void (world.keySource = source));

/** The service issues a new API key; the old one no longer works. */
export const rotateApiKey = (): Command =>
  command("rotateApiKey()", (world) => {
    world.serviceKey += 1;
    for (const workspace of world.emulator.workspaces.values())
      workspace.change({ apiKey: SECRETS.apiKey(world.serviceKey) });
  });

/** Sets the API key that the program uses: the service's current one, or the one that it will issue next. */
export const giveApiKey = (which: "today's" | "the next" = "today's"): Command =>
  command(`giveApiKey(${which})`, (world) => {
    world.givenKey = which === "today's" ? world.serviceKey : world.serviceKey + 1;
  });

export const OUTSIDE = [
  "removed",
  "taken over",
  "key changed",
  "url changed",
  "status lost",
  "bot moved",
  "bot replaced",
] as const;

/** Somebody else changes the registration, or the service changes the bot. */
export const outside = (workspace: WorkspaceName, what: (typeof OUTSIDE)[number]): Command =>
  command(
    `outside(${workspace}, ${what})`,
    (world) => {
      const number = (world.foreignCount += 1);
      const there = world.emulator.workspace(workspace);
      const webhook_url = `http://127.0.0.1:9/foreign/${number}`;
      const webhook_verification_key = SECRETS.foreignKey(number);
      world.known[workspace].isUnseen = true;
      if (what === "removed") there.removeRegistration();
      else if (what === "taken over") there.takeOver({ webhook_url, webhook_verification_key });
      else if (what === "key changed") there.change({ webhook_verification_key });
      else if (what === "url changed") there.change({ webhook_url });
      else if (what === "status lost") there.change({ webhook_status: "failed" });
      else if (what === "bot moved") there.change({ botBaseUrl: `http://127.0.0.2:${8000 + number}` });
      else there.change({ botCode: `other${number}` });
    },
    ({ emulator }) => what === "taken over" || emulator.workspace(workspace).registration !== undefined,
  );

export const FAULTS = {
  refused: { status: 400 },
  // With the following faults, the service makes the change before the call fails.
  lost: "broken-json",
  "timed out": { delayMs: 3_600_000, afterChange: true },
  "refused late": { status: 400, afterChange: true },
} as const satisfies Record<string, FaultRule["fault"]>;

/** Injects a fault into the nth call of an operation, counted from now. */
export const fault = (
  workspace: WorkspaceName,
  operation: FaultRule["operation"],
  what: keyof typeof FAULTS,
  nth = 1,
): Command =>
  command(`fault(${workspace}, ${operation}, ${what}, ${nth})`, ({ emulator }) =>
    emulator.injectFault({ workspace, operation, fault: FAULTS[what], every: nth, times: 1 }),
  );

export const endpointIs = (state: "up" | "down"): Command =>
  command(`endpointIs(${state})`, ({ endpoint }) => void (endpoint.isUp = state === "up"));

/** Runs these commands, with the same checks as random ones. */
export async function play(world: World, commands: readonly Command[]): Promise<void> {
  for (const one of commands) {
    if (!one.check(world)) throw new Error(`${String(one)} is not possible here`);
    await one.run(world, world);
  }
}

/**
 * Run after any sequence of commands. Removes faults, other people's webhooks and wrong API keys, and checks that
 * the documented steps then repair the stack, and that `destroy` leaves nothing.
 */
export async function expectRecovery(world: World): Promise<void> {
  world.emulator.clearFaults();
  for (const name of WORKSPACES) {
    const { registration, stored } = world.stand(name);
    const botUrl = stored.at(-1)?.outputs["botUrl"] as string | undefined;
    if (botUrl) world.emulator.workspace(name).change({ botCode: botUrl.split("/").at(-1) ?? "" });
    if (registration && !world.isOurs(name, registration)) await play(world, [outside(name, "removed")]);
  }
  await play(world, [endpointIs("up"), takeKeyFrom("environment"), giveApiKey(), up(), refresh(), up()]);
  // Several rounds: if a workspace has two resources in the state, the delete of each can end in a conflict. And
  // once one delete has removed the webhook, a read cannot show whether the other resource has the same bot.
  for (let round = 1; round <= 4 && !world.hasSucceeded; round += 1) {
    const ways = WORKSPACES.flatMap((name) => wayOut(world, name));
    const replace = round < 3 ? movedNames(world) : [...world.program.keys()];
    await play(world, [...ways, up({ replace })]);
  }
  expect(world.hasSucceeded, "up succeeds").toBe(true);
  await play(world, [up(), destroy()]);
  expect(world.engine.state, "destroy succeeds").toEqual([]);
}

/** The workspaces whose resource the state still has at another workspace. Only --replace can move the resource. */
const movedNames = (world: World): WorkspaceName[] =>
  [...world.program].flatMap(([workspace, { name, aliases }]) => {
    const old = [name, ...aliases]
      .map((one) => world.engine.state.find((stored) => stored.name === one))
      .find((stored) => stored !== undefined);
    return old && world.workspaceAt(old.outputs["baseUrl"]) !== workspace ? [workspace] : [];
  });

/** Returns the steps with which a conflict's message says to resolve it. */
function wayOut(world: World, workspace: WorkspaceName): Command[] {
  const { registration, stored } = world.stand(workspace);
  const dead = registration
    ? stored.filter((one) => isOfOtherBot(world, workspace, one))
    : stored.filter(() => !isProven(world, workspace));
  const replacing = registration && world.program.has(workspace);
  return [...dead.map(forget), ...(replacing ? [edit(workspace, { onExisting: "replace" })] : [])];
}
