import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { afterTests } from "../support/http.ts";
import { blocksOf, readPage, root } from "../support/pages.ts";
import { endProcessesOf } from "../support/processes.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend } from "../support/stack.ts";

const page = readPage("docs/first-steps.md");
const [emulator = "", endpoint = "", register = "", init = "", key = "", end = ""] = blocksOf(page, "sh");
const [, chapter = ""] = readPage("docs/resource.md").text.split("\n## Drift\n");
const [change = "", drift = ""] = blocksOf({ text: chapter }, "sh");
/** Those of the page, which nobody else may have. */
const PORTS = [4000, 4001, 4002];

test("First steps works word for word, from the first terminal to the end", async () => {
  await Promise.all(PORTS.map(requireFree));
  const backend = await createBackend();
  const folder = await realpath(backend.folder);
  // As on a machine where Pulumi was never used: `init` says where the stack is.
  const { PULUMI_BACKEND_URL: _url, PULUMI_CONFIG_PASSPHRASE: _passphrase, ...clean } = backend.environment;
  const bin = join(folder, "bin");
  await mkdir(bin);
  // npm takes a second to find a command of the package that lies beside it; package/exports.test.ts runs npx itself.
  await writeFile(join(bin, "npx"), '#!/bin/sh\nexec "$PWD/node_modules/.bin/$@"\n', { mode: 0o755 });
  const environment = { ...clean, PATH: `${bin}:${clean["PATH"]}`, XDG_STATE_HOME: folder, CI: "" };
  afterTests(() => endProcessesOf({ name: "PULUMI_HOME", value: clean.PULUMI_HOME ?? "" }));
  const clone = join(folder, "clone");
  await mkdir(clone);
  await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  const [first, second, third] = [1, 2, 3].map(() => openTerminal(clone, environment));
  if (!first || !second || !third) throw new Error("there are three terminals");

  first.paste(emulator);
  await first.waitFor(/Press Ctrl-C to stop/);
  second.paste(endpoint);
  await second.waitFor(/4002/);
  expect(await third.run(register)).toMatch(/verified/);
  await second.waitFor(/delivery/);

  const printed = await third.run(init);
  const [, commands = ""] =
    /Paste next, one after the other:\n\n([^]*)\n\nnpx apichat doctor/.exec(printed) ?? [];
  const [prepare = "", inAnotherTerminal = "", up = ""] = commands.split("\n\n");
  const program = join(folder, "my-webhooks");
  await symlink(join(root, "node_modules"), join(program, "node_modules"));
  await third.run(withoutQuestions(prepare));
  expect(await third.run(`( ${inAnotherTerminal}\n)`)).toContain("An emulator is already running");
  expect(await third.run(withoutQuestions(up))).toMatch(/status +: "verified"/);

  await third.run(change);
  const repaired = await third.run(withoutQuestions(drift));
  expect(repaired).toMatch(
    /webhookUrl *: "https:\/\/chat\.example\/changed-by-hand" => "http:\/\/127\.0\.0\.1/,
  );
  expect(repaired).toMatch(/Resources:\n +5 unchanged\n$/);

  const shown = await third.run(key);
  expect(shown).toContain("the same as yours");
  const [, url = ""] = /^ *url +(\S+)$/m.exec(shown) ?? [];
  const secret = await third.run('echo "$APICHAT_VERIFICATION_KEY"');
  expect(await third.run(`npx apichat verify ${url}`)).toMatch(/passed/);
  await third.run(withoutQuestions(end));
  expect(await third.run("npx apichat webhook get")).toMatch(/nothing/i);
  expect(findSecrets(printed + repaired + shown, [secret.trim()])).toEqual([]);
});

/** What the test has in place of a person, and of a registry that the package is not in. */
const withoutQuestions = (commands: string): string =>
  commands
    .replaceAll(/^npm install( &&\n)?/gm, "")
    .replaceAll(/&&\s*$/g, "")
    .replaceAll(/^pulumi (up|refresh|destroy)/gm, "pulumi $1 --yes")
    .replaceAll(/^pulumi preview /gm, "pulumi preview --diff ");

/** A shell that stays, with its folder and its variables. */
function openTerminal(cwd: string, env: Record<string, string>) {
  const shell: ChildProcess = spawn("sh", ["-e"], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  let isOpen = true;
  let count = 0;
  shell.stdout?.on("data", (chunk) => (output += String(chunk)));
  shell.stderr?.on("data", (chunk) => (output += String(chunk)));
  shell.on("close", () => (isOpen = false));
  afterTests(() => shell.kill("SIGKILL"));
  const waitFor = async (pattern: RegExp): Promise<string> => {
    await vi.waitUntil(() => pattern.test(output) || !isOpen, { timeout: 200_000, interval: 20 });
    expect(output).toMatch(pattern);
    return output;
  };
  /** The commands read nothing: what follows is for the shell. */
  const paste = (commands: string): void => void shell.stdin?.write(`{ ${commands}\n} </dev/null\n`);
  return {
    paste,
    waitFor,
    /** Runs commands that must succeed; gives what they print. */
    run: async (commands: string): Promise<string> => {
      const mark = `end-of-commands-${(count += 1)}`;
      const start = output.length;
      paste(commands);
      shell.stdin?.write(`echo ${mark} $?\n`);
      await waitFor(new RegExp(`${mark} \\d`));
      const printed = output.slice(start);
      expect(printed).toContain(`${mark} 0`);
      return printed.slice(0, printed.indexOf(mark));
    },
  };
}

/** Throws if a program listens on this port. */
const requireFree = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve());
    socket.once("connect", () => {
      socket.destroy();
      reject(new Error(`port ${port}, which the page uses, is taken: end the program that has it`));
    });
  });
