import { mkdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { blocksOf, chapterOf, readPage, root } from "../support/pages.ts";
import { endProcessesNaming } from "../../tools/lib/processes.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend } from "../support/stack.ts";
import { openTerminal, requireFree, withoutQuestions } from "../support/terminal.ts";

const page = readPage("docs/guide/first-steps.md");
const [emulator = "", endpoint = "", register = "", init = "", key = "", end = ""] = blocksOf(page, "sh");
const [change = "", drift = ""] = blocksOf(chapterOf(readPage("docs/reference/resource.md"), "Drift"), "sh");
/** The ports that First steps uses. They must be free. */
const PORTS = [4000, 4001, 4002];
const CUSTOMER_PORTS = [4000, 4001, 8080];

/**
 * Opens three terminals in a folder in which the package is installed. Pulumi has no backend, as on a new machine.
 * Throws unless the ports are free.
 */
async function openTerminals(ports: readonly number[]) {
  await Promise.all(ports.map(requireFree));
  const backend = await createBackend();
  const folder = await realpath(backend.folder);
  // Removes the backend's variables, so that `init` also prints the command that chooses a backend.
  const { PULUMI_BACKEND_URL: _url, PULUMI_CONFIG_PASSPHRASE: _passphrase, ...clean } = backend.environment;
  const bin = join(folder, "bin");
  await mkdir(bin);
  // This script replaces the real npx, which needs a second to find the package's command in the current folder.
  // package/exports.test.ts runs npx itself.
  const npx = `#!/bin/sh\n[ "$1 $2" = "--package pulumi-apichat" ] && shift 2 && exec "${root}node_modules/.bin/$@"\n`;
  await writeFile(join(bin, "npx"), npx, { mode: 0o755 });
  const environment = { ...clean, PATH: `${bin}:${clean["PATH"]}`, XDG_STATE_HOME: folder, CI: "" };
  onTestFinished(() => endProcessesNaming(folder));
  const clone = join(folder, "clone");
  await mkdir(clone);
  await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  const open = () => openTerminal(clone, environment);
  return { folder, clone, terminals: [open(), open(), open()] as const };
}

test("First steps works word for word, from the first terminal to the end", async () => {
  const { folder, terminals } = await openTerminals(PORTS);
  const [first, second, third] = terminals;

  first.paste(emulator);
  await first.waitFor(/Press Ctrl-C to stop/);
  second.paste(endpoint);
  await second.waitFor(/4002/);
  expect(await third.run(register)).toMatch(/verified/);
  await second.waitFor(/delivery/);

  const printed = await third.run(init);
  const [, commands = ""] =
    /Next, paste these commands, one block at a time:\n\n([^]*)\n\nnpx --package pulumi-apichat apichat doctor/.exec(
      printed,
    ) ?? [];
  const [prepare = "", , up = ""] = commands.split("\n\n");
  const program = join(folder, "my-webhooks");
  await symlink(join(root, "node_modules"), join(program, "node_modules"));
  await third.run(withoutQuestions(prepare));
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

test("Your first customers works word for word, and prints what the page shows", async () => {
  const customers = readPage("docs/guide/your-first-customers.md");
  const [install = "", emulate = "", listen = "", ...steps] = blocksOf(customers, "sh");
  const [registered = "", reply = "", rotated = "", found = "", repaired = "", removed = ""] = blocksOf(
    customers,
    "text",
  );
  const [up = "", send = "", rotate = "", changeByHand = "", look = "", repair = "", destroy = ""] = steps;
  const [endpointCode = "", program = ""] = blocksOf(customers, "ts");
  const [seed = ""] = blocksOf(customers, "yaml");
  const { clone, terminals } = await openTerminals(CUSTOMER_PORTS);
  const [first, second, third] = terminals;
  const folder = join(clone, "customers");

  await first.run(withoutQuestions(install));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const files = { "emulator.yaml": seed, "endpoint.mts": endpointCode, "index.ts": program };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const project = await readFile(join(folder, "Pulumi.yaml"), "utf8");
  await writeFile(join(folder, "Pulumi.yaml"), project.replace(/^config:\n(?: .*\n)*/m, ""));
  second.paste(`cd customers\n${emulate}`);
  await second.waitFor(/Press Ctrl-C to stop/);
  third.paste(`cd customers\n${listen}`);
  await third.waitFor(/listening/);

  expectShown(await first.run(withoutQuestions(up)), registered);
  const keysOf = async (customer: string): Promise<string[]> =>
    JSON.parse(await readFile(join(folder, "keys", `${customer}.json`), "utf8")) as string[];
  const [before] = await keysOf("acme");
  await first.run(send);
  expectShown(await first.run(withoutQuestions(rotate)), rotated);
  await first.run(send);
  expectShown(await third.waitFor(/(parcel\?[^]*){2}/), reply);
  const [after, earlier] = await keysOf("acme");
  expect({ earlier, isNew: after !== before }).toEqual({ earlier: before, isNew: true });

  await first.run(changeByHand);
  // The page says that this command exits with 7.
  expectShown(await first.run(`${look.trimEnd()} || [ $? = 7 ]`), found);
  expectShown(await first.run(withoutQuestions(repair)), repaired);
  expectShown(await first.run(withoutQuestions(destroy)), removed);
});

/** Throws unless each line that the page shows was printed; the order does not matter. */
function expectShown(printed: string, shown: string): void {
  const lines = new Set(printed.split("\n").map((line) => line.trim()));
  const missing = shown.split("\n").filter((line) => !lines.has(line.trim()));
  expect({ missing, printed: missing.length > 0 ? printed : "" }).toEqual({ missing: [], printed: "" });
}
