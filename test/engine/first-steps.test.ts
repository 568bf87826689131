import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { afterTests } from "../support/http.ts";
import { blocksOf, readPage, root } from "../support/pages.ts";
import { endProcessesOf } from "../../tools/lib/processes.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend } from "../support/stack.ts";
import { openTerminal, requireFree, withoutQuestions } from "../support/terminal.ts";

const page = readPage("docs/first-steps.md");
const [emulator = "", endpoint = "", register = "", init = "", key = "", end = ""] = blocksOf(page, "sh");
const [, chapter = ""] = readPage("docs/resource.md").text.split("\n## Drift\n");
const [change = "", drift = ""] = blocksOf({ text: chapter }, "sh");
/** The ports of the page, which must be free. */
const PORTS = [4000, 4001, 4002];

test("First steps works word for word, from the first terminal to the end", async () => {
  await Promise.all(PORTS.map(requireFree));
  const backend = await createBackend();
  const folder = await realpath(backend.folder);
  // As on a machine without Pulumi: `init` prints where the stack is.
  const { PULUMI_BACKEND_URL: _url, PULUMI_CONFIG_PASSPHRASE: _passphrase, ...clean } = backend.environment;
  const bin = join(folder, "bin");
  await mkdir(bin);
  // npm takes a second to find a command of the package in its own folder; package/exports.test.ts runs
  // npx itself.
  const npx =
    '#!/bin/sh\n[ "$1 $2" = "--package pulumi-apichat" ] && shift 2 && exec "$PWD/node_modules/.bin/$@"\n';
  await writeFile(join(bin, "npx"), npx, { mode: 0o755 });
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
    /Paste next, one after the other:\n\n([^]*)\n\nnpx --package pulumi-apichat apichat doctor/.exec(
      printed,
    ) ?? [];
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
  expect(await third.run(`npx --package pulumi-apichat apichat verify ${url}`)).toMatch(/passed/);
  await third.run(withoutQuestions(end));
  expect(await third.run("npx --package pulumi-apichat apichat webhook get")).toMatch(/nothing/i);
  expect(findSecrets(printed + repaired + shown, [secret.trim()])).toEqual([]);
});
