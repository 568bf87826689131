import { hash, randomInt } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createResponder, deriveVerificationKeys } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import type { DeliveryRecord } from "pulumi-apichat/emulator";
import { beforeAll, expect, test } from "vitest";
import { commandsIn, type Command } from "../support/command.ts";
import { SEED } from "../support/derived-keys.ts";
import { afterTests } from "../support/http.ts";
import { createFleetFolder, type FleetFolder } from "../support/fleet-folder.ts";
import { signalIfAlive } from "../../tools/lib/processes.ts";
import { callsOf, openScene, registeredWorkspaces, type Scene } from "../support/scene.ts";

/** The seed of all random choices. Each title shows it; with KILL_SEED, a run has the same rounds again. */
const SEED_OF_KILLS = process.env["KILL_SEED"] ?? String(randomInt(1e9));
const ROUNDS = Number(process.env["KILL_ROUNDS"] ?? 12);

const NAMES = Array.from({ length: 60 }, (_, index) => `customer-${String(index + 1).padStart(2, "0")}`);
const FLEET = { name: "killed", stacks: 4 };
const DELIVERY_EVERY_MS = 20;

/** Returns a number of at least 0 and below 1, always the same for the same seed and text. */
const random = (of: string): number =>
  Number.parseInt(hash("sha256", `${SEED_OF_KILLS} ${of}`).slice(0, 12), 16) / 2 ** 48;

const rounds = Array.from({ length: ROUNDS }, (_, index) => ({
  round: index + 1,
  action: (["up", "rotate", "destroy"] as const)[index % 3] ?? "up",
  /** The processes to kill. */
  target: (["everything", "an engine", "the command"] as const)[Math.floor(3 * random(`${index} target`))],
  /** When to kill: after this many changes at the service, and after a further delay. */
  changes: Math.floor(NAMES.length * random(`${index} changes`)),
  delayMs: Math.floor(600 * random(`${index} delay`)),
}));

let scene: Scene;
let folder: FleetFolder;
let startShell: (line: string) => Command;
let rotations = ["r0"];
const deliveries: DeliveryRecord[] = [];

const keyOf = async (subject: string): Promise<string | undefined> =>
  (await deriveVerificationKeys(SEED, { subject, rotations }))[0];

/** An endpoint for all workspaces. It accepts the keys derived for the workspace in the request's path. */
const receiver = toNodeListener({
  answer: async (request) => {
    const subject = new URL(request.url, "http://endpoint").pathname.slice(1);
    const verificationKeys = await deriveVerificationKeys(SEED, { subject, rotations });
    return createResponder({ verificationKeys, onDelivery: () => undefined }).answer(request);
  },
});

beforeAll(async () => {
  scene = await openScene(NAMES);
  scene.endpoint.answerWith(receiver);
  folder = await createFleetFolder(scene, {
    urls: Object.fromEntries(NAMES.map((name) => [name, `${scene.endpoint.url}/${name}`])),
    key: '{ derivedFrom: process.env.KEY_SEED ?? "", rotations }',
    environment: { KEY_SEED: SEED },
  });
  const startCommand = commandsIn(folder.path, scene.backend.environment);
  startShell = (line) => startCommand("bash", "-c", line);
  const timer = setInterval(() => void deliver(registeredWorkspaces(scene)), DELIVERY_EVERY_MS);
  afterTests(() => clearInterval(timer));
});

let sent = 0;

/** Makes the service send one delivery. Each call is for the next workspace in the list. */
async function deliver(names: readonly string[]): Promise<void> {
  const name = names[(sent += 1) % names.length];
  if (name === undefined) return;
  const message = { type: "text", message_type: "outgoing", private: false, text: "hello" } as const;
  const party = { sender_id: "7", conv_id: sent };
  deliveries.push(await scene.emulator.workspace(name).deliver({ ...party, ...message }));
}

const changes = (): number => [...callsOf(scene, "set-webhook"), ...callsOf(scene, "delete-webhook")].length;

/** Runs the round's command, and kills the round's target while it runs. */
async function runAndKill(round: (typeof rounds)[number]): Promise<void> {
  const { action, target, changes: most, delayMs } = round;
  const before = changes();
  const command = start(action);
  let hasEnded = false;
  void command.done.then(() => (hasEnded = true));
  await expect
    .poll(() => hasEnded || changes() - before >= most, { timeout: 120_000, interval: 10 })
    .toBe(true);
  await sleep(delayMs);
  const engines = await enginesOf(command);
  const engine = engines[most % engines.length];
  if (target === "an engine" && engine) signalIfAlive(engine.pid, "SIGKILL");
  else if (target === "the command") command.kill();
  else await command.killEverything();
  await command.done;
  // After the command was killed, its engines end by themselves, because nothing reads their output any more.
  await expect.poll(() => enginesOf(command), { timeout: 120_000 }).toEqual([]);
}

const enginesOf = async (command: Command) =>
  (await command.processes()).filter(({ commandLine: [file = ""] }) => /(^|\/)pulumi$/.test(file));

function start(action: string): Command {
  const how = action === "up" ? ["--skip-plan"] : [];
  return folder.start(action, "--yes", ...how);
}

/** Runs an action until it succeeds; after each failure, runs the printed commands. Returns the number of runs. */
async function converge(action: string): Promise<number> {
  for (let runs = 1; ; runs += 1) {
    const { exitCode, output } = await start(action).done;
    if (exitCode === 0) return runs;
    expect(runs, output).toBeLessThan(5);
    const cancels = output.match(/pulumi cancel --cwd \S+ --stack [\w-]+/g) ?? [];
    const removals = output.match(/find \.pulumi .* -delete/g) ?? [];
    const lines = [
      ...cancels.map((words) => `${words} --yes`),
      ...removals.map((words) => `cd ${scene.backend.folder} && ${words}`),
    ];
    expect(lines, output).not.toEqual([]);
    for (const line of new Set(lines)) {
      const ran = await startShell(line).done;
      expect(ran.exitCode, ran.output).toBe(0);
    }
  }
}

/**
 * Checks that the service, the receiver and the states have the same workspaces with the same keys, and that
 * a killed run has left nothing behind.
 */
async function expectAgreement(names: readonly string[]): Promise<void> {
  const keys = await Promise.all(names.map(async (name) => [name, [await keyOf(name), "verified"]] as const));
  const registered = registeredWorkspaces(scene).map((name) => {
    const { registration } = scene.emulator.workspace(name);
    return [name, [registration?.webhook_verification_key, registration?.webhook_status]] as const;
  });
  expect(Object.fromEntries(registered)).toEqual(Object.fromEntries(keys));
  const states = [...(await folder.states()).values()].join("\n");
  const held = [...states.matchAll(/"urn":\s*"[^"]*:ApiChatWebhook::([^"]*)"/g)].map(([, name = ""]) => name);
  expect([...new Set(held)].toSorted()).toEqual(names);
  expect(states).not.toMatch(/"pending_operations":\s*\[\s*\{/);
  expect(await folder.locks()).toEqual([]);
  const left = await readdir(join(folder.path, ".fleet", FLEET.name));
  expect(left.filter((file) => /\.unfinished$|^rotation/.test(file))).toEqual([]);
  for (const name of names) await deliver([name]);
  expect(deliveries.filter(({ verdict }) => verdict !== "delivered")).toEqual([]);
}

test.each(rounds)(
  `round $round: kill -9 of $target during $action after $changes changes and $delayMs ms (KILL_SEED=${SEED_OF_KILLS})`,
  async (round) => {
    const { action } = round;
    // Adds the new rotation to the receiver and the definition before the run.
    if (action === "rotate") rotations = [`r${round.round}`, ...rotations].slice(0, 2);
    await folder.define({ ...FLEET, rotations });
    await runAndKill(round);
    const before = changes();
    const registered = registeredWorkspaces(scene).length;
    await converge(action);
    const made = changes() - before;
    // What the killed run has registered is not registered again, and what it has removed is not removed again.
    const left = { up: NAMES.length - registered, rotate: NAMES.length, destroy: registered }[action];
    expect(made).toBeLessThanOrEqual(left);
    await expectAgreement(action === "destroy" ? [] : NAMES);
  },
);

test("destroy leaves nothing, even if a killed engine left a state's attributes file empty", async () => {
  const states = join(scene.backend.folder, ".pulumi", "stacks");
  const runs = (await folder.states()).size > 0 ? 2 : 1;
  await startShell(`for file in $(find ${states} -name "*.json.attrs" | head -1); do : > $file; done`).done;
  expect(await converge("destroy")).toBe(runs);
  await expectAgreement([]);
  expect([...(await folder.states()).keys()]).toEqual([]);
});
