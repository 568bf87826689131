/**
 * Gets a clone ready: dependencies, `dist/`, and with `--engine` a Pulumi engine. Does nothing when all is there.
 * Runs on Node 20 and without dependencies, because it is what installs them.
 */
import { existsSync } from "node:fs";
import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { withLock } from "./setup/lock.mjs";
import { abortOnSignals, CommandError, Interrupted, run } from "./setup/processes.mjs";
import { withProgress } from "./setup/progress.mjs";
import { isDue, runStep } from "./setup/stamps.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamps = join(root, "node_modules", ".setup");
const binaries = join(root, "node_modules", ".bin");
const node = join(binaries, "node");

const dependencies = {
  stamp: join(stamps, "installed"),
  inputs: [join(root, "package.json"), join(root, "package-lock.json")],
  outputs: [node],
};
const build = {
  stamp: join(stamps, "built"),
  inputs: ["provider", "schema", "tools/page", "tsconfig.json", "package.json"].map((name) =>
    join(root, name),
  ),
  outputs: [join(root, "dist", "provider", "emulator", "page", "app.js"), join(binaries, "apichat")],
};

const LINK_COMMANDS = ["rebuild", "pulumi-apichat", "--ignore-scripts"];

/** Is there while npm runs. */
const installing = join(stamps, "installing");

const signal = abortOnSignals();
try {
  const { values } = parseArgs({ options: { engine: { type: "boolean", default: false } } });
  await prepareClone();
  if (values.engine) await prepareEngine();
} catch (error) {
  process.exitCode = report(error);
}
process.exit();

async function prepareClone() {
  if (!(await isDue(dependencies)) && !(await isDue(build))) return;
  await withLock(join(stamps, "lock"), { signal, onWait: sayWaiting }, async () => {
    if (await isDue(dependencies)) await runStep(dependencies, installDependencies);
    if (await isDue(build)) await runStep(build, compile);
  });
}

/** Not `npm ci`: a lock file lacks the packages of other platforms that the registry of its writer did not serve. */
async function installDependencies() {
  if (existsSync(installing)) await removeDependencies();
  await writeFile(installing, "");
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--include=dev"];
  await withProgress("Installing the dependencies with npm: about a minute the first time", () =>
    execute("npm", args, "Mend that, then run this again."),
  );
  await rm(installing);
  if (!existsSync(node)) {
    throw new Error(
      "npm installed no node_modules/.bin/node, which everything else here runs on. " +
        "Are install scripts off (npm config get ignore-scripts)? Then: npm rebuild node --ignore-scripts=false",
    );
  }
}

/** An npm that was broken off leaves half packages, which the next one takes for whole. */
async function removeDependencies() {
  const modules = join(root, "node_modules");
  for (const name of await readdir(modules)) {
    if (name !== ".setup") await rm(join(modules, name), { recursive: true, force: true });
  }
}

/** Over the old files, because something may be running from them; what tsc did not write again goes away afterwards. */
async function compile() {
  const begunMs = Date.now();
  const advice = "Mend the sources, then run this again.";
  await withProgress("Compiling dist/: some seconds", async () => {
    await execute(join(binaries, "tsc"), ["-p", "tsconfig.json"], advice);
    await execute(node, [join(root, "tools", "page", "main.ts")], advice);
    // npm links a command only if its file is there, and it was not when npm installed.
    if (!existsSync(join(binaries, "apichat"))) await execute("npm", LINK_COMMANDS, advice);
  });
  const dist = join(root, "dist");
  for (const name of await readdir(dist, { recursive: true })) {
    const path = join(dist, name);
    const status = await stat(path);
    if (status.isFile() && status.mtimeMs < begunMs - 1000) await rm(path);
  }
}

/** The engine's tools speak for themselves on stderr, errors included. */
async function prepareEngine() {
  await run(node, [join(root, "tools", "engine", "main.ts")], {
    cwd: root,
    env: environment(),
    signal,
    showStderr: true,
    // Longer than what it needs itself to end its own processes.
    graceMs: 10_000,
  }).catch((error) => {
    throw error instanceof CommandError ? new Error("The set-up has no engine to go on with.") : error;
  });
}

/**
 * Runs a command quietly; its output shows only if it fails.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} advice what to do when it fails
 */
async function execute(command, args, advice) {
  try {
    await run(command, args, { cwd: root, env: environment(), signal });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new Error([error.output, error.message, advice].filter(Boolean).join("\n"), { cause: error });
  }
}

/** Programs that start with `#!/usr/bin/env node` find the Node of the dependencies. */
function environment() {
  return { ...process.env, PATH: [binaries, process.env.PATH].join(delimiter) };
}

/** @param {unknown} error */
function report(error) {
  if (error instanceof Interrupted) return error.exitCode;
  say(error instanceof Error ? error.message : String(error));
  return 1;
}

/** @param {string} holder */
function sayWaiting(holder) {
  say(`Waiting for another set-up of this clone (process ${holder})`);
}

/** @param {string} text */
function say(text) {
  process.stderr.write(`${text}\n`);
}
