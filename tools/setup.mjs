/**
 * Gets a clone ready: dependencies, `dist/`, `plugin/`, and with `--engine` a Pulumi engine; what follows that are options of
 * tools/engine/main.ts, such as `--languages yaml`. Does nothing when all is there.
 * Runs on Node 20 and without dependencies, because it is what installs them.
 */
import { existsSync } from "node:fs";
import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withLock } from "./setup/lock.mjs";
import { withProgress } from "./setup/progress.mjs";
import { abortOnSignals, CommandError, run, runTool } from "./setup/run.mjs";
import { isDue, runIfDue } from "./setup/stamps.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamps = join(root, "node_modules", ".setup");
const binaries = join(root, "node_modules", ".bin");
const node = join(binaries, "node");
/** Programs that start with `#!/usr/bin/env node` find the Node of the dependencies. */
const env = { ...process.env, PATH: [binaries, process.env.PATH].join(delimiter) };

const dependencies = {
  stamp: join(stamps, "installed"),
  inputs: [join(root, "package.json"), join(root, "package-lock.json")],
  outputs: [node],
};
const build = {
  stamp: join(stamps, "built"),
  inputs: [
    "provider",
    "schema",
    "provider/plugin/schema.json",
    "tools/compile",
    "tools/bundle-page.ts",
    "tools/bundle-plugin.ts",
    "tools/licences.ts",
    "tsconfig.json",
    "package.json",
  ].map((name) => join(root, name)),
  outputs: [
    join(root, "dist", "provider", "emulator", "page", "app.js"),
    join(root, "plugin", "pulumi-resource-apichat"),
    join(binaries, "apichat"),
  ],
};

/** Is there while npm runs. */
const installing = join(stamps, "installing");

const signal = abortOnSignals();
await runTool(async () => {
  if ((await isDue(dependencies)) || (await isDue(build))) {
    await withLock(join(stamps, "lock"), signal, async () => {
      await runIfDue(dependencies, installDependencies);
      await runIfDue(build, compile);
    });
  }
  const [engine, ...options] = process.argv.slice(2);
  if (engine === "--engine") await prepareEngine(options);
});
process.exit();

/** Not `npm ci`: a lock file lacks the packages of other platforms that the registry of its writer did not serve. */
async function installDependencies() {
  if (existsSync(installing)) await removeDependencies();
  await writeFile(installing, "");
  await withProgress(
    "Installing the dependencies with npm: half a minute from its cache, else about four minutes",
    () => execute("npm", ["install", "--no-save", "--no-audit", "--no-fund", "--include=dev"]),
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

/** Over the old files, because something may be running from them; what the compiler did not write again goes away afterwards. */
async function compile() {
  const begunMs = Date.now();
  await withProgress("Compiling dist/ and plugin/: some seconds", async () => {
    await execute(node, [join(root, "tools", "compile", "main.ts")]);
    await Promise.all(
      ["bundle-page.ts", "bundle-plugin.ts"].map((tool) => execute(node, [join(root, "tools", tool)])),
    );
    // npm links a command only if its file is there, and it was not when npm installed.
    if (!existsSync(join(binaries, "apichat"))) {
      await execute("npm", ["rebuild", "pulumi-apichat", "--ignore-scripts"]);
    }
  });
  const dist = join(root, "dist");
  for (const name of await readdir(dist, { recursive: true })) {
    const path = join(dist, name);
    const status = await stat(path);
    if (status.isFile() && status.mtimeMs < begunMs - 1000) await rm(path);
  }
}

/**
 * The engine's tools print on stderr themselves, errors included.
 *
 * @param {readonly string[]} wanted
 */
async function prepareEngine(wanted) {
  // Longer than what it needs itself to end its own processes.
  const options = { cwd: root, env, signal, showStderr: true, graceMs: 10_000 };
  await run(node, [join(root, "tools", "engine", "main.ts"), ...wanted], options).catch((error) => {
    throw error instanceof CommandError
      ? new Error("The set-up stops here: it has no engine, or not the hosts of its languages.")
      : error;
  });
}

/**
 * Runs a command quietly; its output shows only if it fails.
 *
 * @param {string} command
 * @param {readonly string[]} args
 */
async function execute(command, args) {
  await run(command, args, { cwd: root, env, signal });
}
