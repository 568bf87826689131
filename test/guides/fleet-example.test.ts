import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { Emulator } from "pulumi-apichat/emulator";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsIn as startIn } from "../support/command.ts";
import { SEED } from "../support/derived-keys.ts";
import { startFleetExample } from "../support/fleet-example.ts";
import { freePort } from "../support/http.ts";
import { blocksOf, commandsIn } from "../support/pages.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend, type Backend } from "../support/stack.ts";

/** The address of the emulator in the README; here it has its own port. */
const README_ORIGIN = "http://127.0.0.1:4000";
const API_KEY = "fleet-api-key";
const STRANGER = { url: "https://somebody.example/hook", key: "the-key-of-somebody-else" };

let backend: Backend;
let emulator: Emulator;
let folder: string;
let names: string[];
/** The remaining commands of the README. */
let commands: string[];
let printed = "";
/** All keys that were ever registered. */
const keys = new Set<string>();

beforeAll(async () => {
  backend = await createBackend();
  ({ folder, emulator, names } = await startFleetExample(backend));
  await replaceIn("workspaces.yaml", README_ORIGIN, emulator.url);
  const port = String(await freePort());
  await replaceIn("definition.ts", "8080", port);
  // One stack is enough here; engine/fleet.test.ts has several.
  await replaceIn("definition.ts", "stacks: 3", "stacks: 1");
  await replaceIn("responder.json", "8080", port);
  const readme = await readFile(join(folder, "README.md"), "utf8");
  const [, chapter = ""] = /\n## On this machine, without an account\n(.*?)(\n## |$)/s.exec(readme) ?? [];
  commands = commandsIn(blocksOf({ text: chapter }, "sh")).map((command) =>
    command.replaceAll(README_ORIGIN, emulator.url),
  );
});

async function replaceIn(file: string, text: string, by: string): Promise<void> {
  const path = join(folder, file);
  const before = await readFile(path, "utf8");
  expect(before).toContain(text);
  await writeFile(path, before.replaceAll(text, by));
}

const registrationOf = (name: string) => emulator.workspace(name).registration;

const environment = (): Record<string, string> => ({
  ...backend.environment,
  APICHAT_API_KEY: API_KEY,
  KEY_SEED: SEED,
  CI: "false",
});

function expectAllVerified(): void {
  for (const name of names) {
    expect(registrationOf(name), name).toMatchObject({ webhook_status: "verified" });
    keys.add(registrationOf(name)?.webhook_verification_key ?? "");
  }
}

/** Takes the next commands of the README. Fails if they differ. Returns the last one. */
function expectNext(...expected: (string | RegExp)[]): string {
  const next = commands.splice(0, expected.length);
  const isExpected = (one: string | RegExp, index: number) =>
    typeof one === "string" ? next[index] === one : one.test(next[index] ?? "");
  expect(expected.every(isExpected), `the README goes on with:\n${next.join("\n")}`).toBe(true);
  return next.at(-1) ?? "";
}

/**
 * Runs the next command of the README in the folder of the example; with `typed` on a terminal, where
 * somebody answers its prompt. Returns its stdout.
 */
async function follow(expected: string | RegExp, { typed = "", exitCode = 0 } = {}): Promise<string> {
  const command = expectNext(expected);
  const terminal = ["script", "--quiet", "--return", "--command", command, "/dev/null"];
  const [file = "", ...args] = typed === "" ? ["bash", "-c", command] : terminal;
  const result = await execa(file, args, {
    cwd: folder,
    env: environment(),
    extendEnv: false,
    input: `${typed}\n`,
    all: true,
    reject: false,
  });
  printed += `${result.all}\n`;
  expect(result.exitCode, result.all).toBe(exitCode);
  return result.stdout;
}

describe("the example fleet, word for word as in its README", () => {
  test("starts an emulator with its workspaces and API key", () => {
    expectNext("npm run build", /^export PATH=/, "cd examples/fleet");
    expectNext("apichat emulator --seed emulator.yaml");
    expectNext(/^export PATH=/, "cd examples/fleet", "mkdir -p state");
    expectNext(/^export PULUMI_BACKEND_URL="file:\/\/\$PWD\/state" PULUMI_CONFIG_PASSPHRASE=/);
    expectNext(`export APICHAT_API_KEY=${API_KEY}`, 'export KEY_SEED="$(openssl rand -base64 32)"');
    expect(names).toHaveLength(12);
    const command = expectNext("apichat responder --config responder.json > responder.log 2>&1 &");
    // As a job of the shell, which ends with the tests.
    const [file = "", ...words] = command.split(" ").slice(0, 4);
    startIn(folder, environment())(file, ...words);
  });

  test("plan prints what would be created, and registers nothing", async () => {
    expect(await follow("node fleet.ts plan")).toContain("12 keys to create");
    expect(names.filter(registrationOf)).toEqual([]);
  });

  test("up registers every workspace with its own key", async () => {
    await follow("node fleet.ts up", { typed: "y" });
    expectAllVerified();
    expect(keys.size).toBe(names.length);
  });

  test("bot-urls prints all of them, also as JSON", async () => {
    const botUrls = Object.fromEntries(names.map((name) => [name, emulator.workspace(name).botUrl]));
    expectNext("node fleet.ts bot-urls");
    expect(JSON.parse(await follow("node fleet.ts bot-urls --json"))).toEqual(botUrls);
  });

  test("watch names a removed and a taken-over webhook, and changes nothing", async () => {
    // A watch without drift runs after the repair.
    expectNext("node fleet.ts watch");
    await follow(/^curl -X DELETE .*\/globex\/registration$/);
    await follow(/^curl -X PUT /);
    const drift = await follow("node fleet.ts watch", { exitCode: 1 });
    for (const text of ["globex", "hooli", STRANGER.url, "node fleet.ts up --refresh"]) {
      expect(drift).toContain(text);
    }
    expect(registrationOf("globex")).toBeUndefined();
    expect(registrationOf("hooli")?.webhook_url).toBe(STRANGER.url);
  });

  test("up --refresh registers both again, which removes the drift", async () => {
    await follow(/^apichat webhook delete .*\/hooli\/apichat --webhook-url \S+$/);
    await follow("node fleet.ts up --refresh", { typed: "y" });
    expectAllVerified();
    await follow("node fleet.ts watch");
  });

  test("rotate registers a new key everywhere", async () => {
    const before = names.map((name) => registrationOf(name)?.webhook_verification_key);
    await follow(/^sed -i .* definition\.ts$/);
    await follow("node fleet.ts rotate", { typed: "y" });
    expectAllVerified();
    const after = new Set(names.map((name) => registrationOf(name)?.webhook_verification_key));
    expect(before.filter((key) => after.has(key))).toEqual([]);
  });

  test("destroy removes every webhook once their number is typed", async () => {
    await follow("node fleet.ts destroy", { typed: "12" });
    expect(names.filter(registrationOf)).toEqual([]);
    expectNext("kill %1");
  });

  test("the README has no further commands, and no output contains a secret", () => {
    expect(commands).toEqual([]);
    expect(findSecrets(printed, [API_KEY, SEED, STRANGER.key, ...keys])).toEqual([]);
  });
});
