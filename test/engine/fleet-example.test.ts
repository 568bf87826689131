import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { readSeed, startEmulator, type Emulator } from "pulumi-apichat/emulator";
import { beforeAll, describe, expect, test } from "vitest";
import { afterTests } from "../support/http.ts";
import { readExampleCommands, replaceInFile } from "../support/example-commands.ts";
import { processesNaming } from "../support/processes.ts";
import { copyExample, type ProgramFolder } from "../support/program-folder.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend, type Backend } from "../support/stack.ts";

/** Where the README has the emulator; here it is on a port of the test's own. */
const README_ORIGIN = "http://127.0.0.1:4000";
const API_KEY = "fleet-api-key";
const STRANGER = { url: "https://somebody.example/hook", key: "the-key-of-somebody-else" };

let backend: Backend;
let emulator: Emulator;
let program: ProgramFolder;
let names: string[];
let commands: string[];
let printed = "";
/** Keys that were registered at some time. */
const keys = new Set<string>();

beforeAll(async () => {
  backend = await createBackend();
  program = await copyExample(backend, "fleet");
  // What a walk through the example in this clone may have left.
  await rm(join(program.path, ".fleet"), { recursive: true, force: true });
  await rm(join(program.path, "state"), { recursive: true, force: true });
  const seed = await readSeed(join(program.path, "emulator.yaml"));
  names = (seed.workspaces ?? []).map(({ name }) => name);
  emulator = await startEmulator(seed);
  afterTests(() => emulator.close());
  const origin = new URL(emulator.workspace("acme").baseUrl).origin;
  await replaceInFile(join(program.path, "workspaces.yaml"), README_ORIGIN, origin);
  const readme = await readFile(join(program.path, "README.md"), "utf8");
  commands = readExampleCommands(readme, "On this machine, without an account").map((command) =>
    command.replaceAll(README_ORIGIN, origin),
  );
});

describe("The example fleet, word by word as its README says", () => {
  test("begins with an emulator that has its workspaces and its API key", () => {
    expectNext("npm run build");
    expectNext(/^export PATH=/);
    expectNext("cd examples/fleet");
    expectNext("apichat emulator --seed emulator.yaml");
    expectNext(/^export PATH=/);
    expectNext("cd examples/fleet");
    expectNext("mkdir -p state");
    expectNext(/^export PULUMI_BACKEND_URL="file:\/\/\$PWD\/state" PULUMI_CONFIG_PASSPHRASE=/);
    expectNext(`export APICHAT_API_KEY=${API_KEY}`);
    expect(names).toHaveLength(12);
  });

  test("plan tells what would be created, and registers nothing", async () => {
    const { exitCode, output } = await follow("node fleet.ts plan");
    expect(exitCode, output).toBe(0);
    expect(output).toContain("12 keys, 3 responders to create");
    expect(names.filter(registrationOf)).toEqual([]);
    expect(await processesNaming(join(backend.folder, "state-home"))).toEqual([]);
  });

  test("up registers every workspace with a key of its own, at the responder of its stack", async () => {
    const { exitCode, output } = await answer("node fleet.ts up", "y");
    expect(exitCode, output).toBe(0);
    expectAllVerified();
    expect(keys.size).toBe(names.length);
    const receivers = new Set(names.map((name) => new URL(registrationOf(name)?.webhook_url ?? "").origin));
    expect(receivers.size).toBe(3);
  });

  test("bot-urls prints all of them, also as JSON and as lines for an environment", async () => {
    const { stdout } = await follow("node fleet.ts bot-urls");
    expect(Object.values(expectedBotUrls()).filter((url) => !stdout.includes(url))).toEqual([]);
    const asJson = await follow("node fleet.ts bot-urls --json");
    expect(JSON.parse(asJson.stdout)).toEqual(expectedBotUrls());
    const asLines = await follow("node fleet.ts bot-urls --env");
    const lines = Object.entries(expectedBotUrls()).map(
      ([name, url]) => `APICHAT_BOT_URL_${name.toUpperCase()}=${url}`,
    );
    expect(asLines.stdout.trim().split("\n").toSorted()).toEqual(lines.toSorted());
  });

  test("watch finds no drift", async () => {
    const { exitCode, output } = await follow("node fleet.ts watch");
    expect(exitCode, output).toBe(0);
  });

  test("watch names what was removed and what somebody else has taken over, and changes nothing", async () => {
    const removed = await follow(/^curl -X DELETE .*\/globex\/registration$/);
    expect(removed.exitCode, removed.output).toBe(0);
    const takenOver = await follow(/^curl -X PUT /);
    expect(takenOver.exitCode, takenOver.output).toBe(0);
    const { exitCode, output } = await follow("node fleet.ts watch");
    expect(exitCode, output).toBe(1);
    expect(output).toContain("globex");
    expect(output).toContain("hooli");
    expect(output).toContain(STRANGER.url);
    expect(output).toContain("node fleet.ts up --refresh");
    expect(registrationOf("globex")).toBeUndefined();
    expect(registrationOf("hooli")?.webhook_url).toBe(STRANGER.url);
  });

  test("up --refresh registers both again, and then there is no drift", async () => {
    const freed = await follow(/^apichat webhook delete .*\/hooli\/apichat --webhook-url \S+$/);
    expect(freed.exitCode, freed.output).toBe(0);
    const repaired = await answer("node fleet.ts up --refresh", "y");
    expect(repaired.exitCode, repaired.output).toBe(0);
    expectAllVerified();
    const { exitCode, output } = await follow("node fleet.ts watch");
    expect(exitCode, output).toBe(0);
  });

  test("rotate registers a new key everywhere", async () => {
    const before = new Map(names.map((name) => [name, registrationOf(name)?.webhook_verification_key]));
    const { exitCode, output } = await answer("node fleet.ts rotate", "y");
    expect(exitCode, output).toBe(0);
    expectAllVerified();
    const unchanged = names.filter(
      (name) => registrationOf(name)?.webhook_verification_key === before.get(name),
    );
    expect(unchanged).toEqual([]);
  });

  test("destroy removes every webhook and every responder, once it was told their number", async () => {
    const { exitCode, output } = await answer("node fleet.ts destroy", "12");
    expect(exitCode, output).toBe(0);
    expect(names.filter(registrationOf)).toEqual([]);
    expect(await processesNaming(join(backend.folder, "state-home"))).toEqual([]);
  });

  test("has nothing else to do, and printed no secret", () => {
    expect(commands).toEqual([]);
    expect(findSecrets(printed, [API_KEY, STRANGER.key, ...keys])).toEqual([]);
  });
});

/** The next command of the README; fails if it is another one. */
function expectNext(expected: string | RegExp): string {
  const next = commands.shift() ?? "";
  const isExpected = typeof expected === "string" ? next === expected : expected.test(next);
  expect(isExpected, `the README goes on with: ${next}`).toBe(true);
  return next;
}

interface Outcome {
  exitCode: number | undefined;
  stdout: string;
  /** Both streams. */
  output: string;
}

/** Runs the next command of the README in the folder of the example. */
function follow(expected: string | RegExp): Promise<Outcome> {
  return run(["bash", "-c", expectNext(expected)]);
}

/** The same on a terminal, where somebody types the answer to its question. */
function answer(expected: string, typed: string): Promise<Outcome> {
  return run(["script", "--quiet", "--return", "--command", expectNext(expected), "/dev/null"], `${typed}\n`);
}

async function run([file = "", ...args]: string[], input = ""): Promise<Outcome> {
  const { exitCode, stdout, all } = await execa(file, args, {
    cwd: program.path,
    env: {
      ...backend.environment,
      APICHAT_API_KEY: API_KEY,
      XDG_STATE_HOME: join(backend.folder, "state-home"),
      CI: "false",
    },
    extendEnv: false,
    input,
    all: true,
    reject: false,
  });
  printed += `${all}\n`;
  return { exitCode, stdout, output: all };
}

const registrationOf = (name: string) => emulator.workspace(name).registration;

const expectedBotUrls = (): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, emulator.workspace(name).botUrl]));

function expectAllVerified(): void {
  for (const name of names) {
    expect(registrationOf(name), name).toMatchObject({ webhook_status: "verified" });
    keys.add(registrationOf(name)?.webhook_verification_key ?? "");
  }
}
