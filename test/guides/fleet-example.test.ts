import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { commandsIn as startIn } from "../support/command.ts";
import { SEED } from "../support/derived-keys.ts";
import { startFleetExample } from "../support/fleet-example.ts";
import { freePort } from "../support/http.ts";
import { blocksOf, chapterOf, commandsIn } from "../support/pages.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend } from "../support/stack.ts";

/** The emulator's address in the README; the test's emulator has its own port. */
const README_ORIGIN = "http://127.0.0.1:4000";
const API_KEY = "fleet-api-key";
const STRANGER = { url: "https://somebody.example/hook", key: "the-key-of-somebody-else" };

/** What a user types at a command's prompt. */
const TYPED: Record<string, string> = {
  "node fleet.ts up": "y",
  "node fleet.ts up --refresh": "y",
  "node fleet.ts rotate": "y",
  "node fleet.ts destroy": "12",
};

/** Commands of the README that prepare its two terminals. The test skips them: it has its own setup. */
const PREPARES = /^(?:npm run build|export |cd |mkdir |apichat emulator |kill )/;

test("the README of the example fleet works word for word", async () => {
  const backend = await createBackend();
  const { folder, emulator, names } = await startFleetExample(backend);
  expect(names).toHaveLength(12);
  const edit = async (file: string, changes: Record<string, string>): Promise<void> => {
    let text = await readFile(join(folder, file), "utf8");
    for (const [from, to] of Object.entries(changes)) {
      expect(text).toContain(from);
      text = text.replaceAll(from, to);
    }
    await writeFile(join(folder, file), text);
  };
  const port = String(await freePort());
  await edit("workspaces.yaml", { [README_ORIGIN]: emulator.url });
  // One stack is enough here; engine/fleet.test.ts uses two.
  await edit("definition.ts", { 8080: port, "stacks: 3": "stacks: 1" });
  await edit("responder.json", { 8080: port });
  const env = { ...backend.environment, APICHAT_API_KEY: API_KEY, KEY_SEED: SEED, CI: "false" };
  const readme = { text: await readFile(join(folder, "README.md"), "utf8") };
  const commands = commandsIn(blocksOf(chapterOf(readme, "On this machine, without an account"), "sh")).map(
    (command) => command.replaceAll(README_ORIGIN, emulator.url),
  );
  let printed = "";

  const run = async (command: string, expected: number): Promise<string> => {
    const input = TYPED[command];
    const terminal = ["script", "--quiet", "--return", "--command", command, "/dev/null"];
    const [file = "", ...args] = input === undefined ? ["bash", "-c", command] : terminal;
    const options = { cwd: folder, env, extendEnv: false, all: true, reject: false } as const;
    const { exitCode, stdout, all } = await execa(file, args, { ...options, input: `${input ?? ""}\n` });
    printed += `${all}\n`;
    expect(exitCode, all).toBe(expected);
    return stdout;
  };
  /** Runs the README's next commands, up to and including `last`. Returns the stdout of `last`. */
  const play = async (last: string, expected = 0): Promise<string> => {
    for (let command = commands.shift(); command !== undefined; command = commands.shift()) {
      if (command === last) return run(command, expected);
      if (command.endsWith("&")) {
        // The shell would run this command as a background job. Here, it runs until the tests end.
        const [file = "", ...words] = command.split(" ").slice(0, 4);
        startIn(folder, env)(file, ...words);
      } else if (!PREPARES.test(command)) await run(command, 0);
    }
    return "";
  };
  const registrationOf = (name: string) => emulator.workspace(name).registration;
  const keys = new Set<string>();
  const expectAllVerified = (): void => {
    for (const name of names) {
      expect(registrationOf(name), name).toMatchObject({ webhook_status: "verified" });
      keys.add(registrationOf(name)?.webhook_verification_key ?? "");
    }
  };

  expect(await play("node fleet.ts plan")).toContain("12 keys to create");
  expect(names.filter(registrationOf)).toEqual([]);
  await play("node fleet.ts up");
  expectAllVerified();
  expect(JSON.parse(await play("node fleet.ts bot-urls --json"))).toEqual(
    Object.fromEntries(names.map((name) => [name, emulator.workspace(name).botUrl])),
  );
  await play("node fleet.ts watch");

  const drift = await play("node fleet.ts watch", 1);
  for (const text of ["globex", "hooli", STRANGER.url, "node fleet.ts up --refresh"])
    expect(drift).toContain(text);
  expect(registrationOf("hooli")?.webhook_url).toBe(STRANGER.url);
  await play("node fleet.ts up --refresh");
  expectAllVerified();
  await play("node fleet.ts watch");

  await play("node fleet.ts rotate");
  expectAllVerified();
  expect(keys.size).toBe(2 * names.length);
  await play("node fleet.ts destroy");
  expect(names.filter(registrationOf)).toEqual([]);
  await play("");
  expect(findSecrets(printed, [API_KEY, SEED, STRANGER.key, ...keys])).toEqual([]);
});
