/**
 * Prepares a clone: its dependencies, `dist/`, `plugin/`, and with `--engine` a Pulumi engine. Does nothing if all
 * of these exist. Options after `--engine`, such as `--languages yaml`, are passed to tools/engine/main.ts.
 * Runs on Node 20 without dependencies.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { withProgress } from "./lib/progress.mjs";

if (process.platform === "win32") {
  console.error(
    "Develop on Linux or macOS; on Windows, in WSL. The package itself runs on Windows: docs/reference/support.md",
  );
  process.exit(1);
}
process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const BINARIES = resolve("node_modules/.bin");
const [NODE, COMMAND] = [join(BINARIES, "node"), join(BINARIES, "apichat")];
/** npm's own record of the installed packages, the digest of the sources at the last build, and a lock file. */
const [RECORD, BUILT, LOCK] = ["node_modules/.package-lock.json", "node_modules/.built", ".setup-lock"];
const SOURCES = ["provider", "schema", "tools/compile", "tsconfig.json", "package.json"];
const OUTPUTS = ["dist/provider/index.js", "plugin/pulumi-resource-apichat", COMMAND, BUILT];
const env = { ...process.env, PATH: [BINARIES, process.env.PATH].join(delimiter) };
const read = (/** @type {string} */ path) => readFileSync(path, "utf8");
const create = (/** @type {string} */ path) => writeFileSync(path, `${process.pid}`, { flag: "wx" });
const isBuilt = () => OUTPUTS.every((path) => existsSync(path)) && read(BUILT) === digestSources();

let [child, signal] = /** @type {[import("node:child_process").ChildProcess?, NodeJS.Signals?]} */ ([]);
for (const name of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.on(name, () => {
    signal = name;
    if (child?.pid && child.exitCode === null) process.kill(-child.pid, name);
  });
}

try {
  const time = "half a minute from its cache, else about four minutes";
  await unless(isInstalled, `Installing the dependencies with npm: ${time}`, install);
  await unless(isBuilt, "Compiling dist/ and plugin/: a few seconds", build);
  const [engine, ...options] = process.argv.slice(2);
  if (engine === "--engine") await run(NODE, ["tools/engine/main.ts", ...options], "inherit");
} catch (error) {
  if (!signal) console.error(error instanceof Error ? error.message : error);
  process.exitCode = signal ? 128 + constants.signals[signal] : 1;
}

/** Whether npm has installed everything in the lock file. An interrupted run of npm leaves no record. */
function isInstalled() {
  if (!existsSync(NODE) || !existsSync(RECORD)) return false;
  const [wanted, found] = ["package-lock.json", RECORD].map((file) => JSON.parse(read(file)).packages);
  return Object.entries(wanted).every(
    ([path, one]) => !path || one.optional || one.devOptional || found[path]?.version === one.version,
  );
}

/** Installs exactly what the lock file lists. Fails if the lock file does not match package.json. */
async function install() {
  await run("npm", ["ci", "--no-audit", "--no-fund", "--include=dev", "--ignore-scripts=false"]);
}

async function build() {
  const digest = digestSources();
  rmSync(BUILT, { force: true });
  await run(NODE, ["tools/compile/main.ts"]);
  // npm links a command only if its file exists: `apichat` did not when npm installed the dependencies.
  if (!existsSync(COMMAND)) await run("npm", ["rebuild", "pulumi-apichat", "--ignore-scripts"]);
  writeFileSync(BUILT, digest);
}

function digestSources() {
  const hash = createHash("sha256").update(`${resolve()} ${process.platform} ${process.arch}`);
  for (const source of SOURCES) {
    const names = source.endsWith(".json") ? [""] : readdirSync(source, { recursive: true });
    for (const path of names.map((name) => join(source, String(name))).toSorted()) {
      if (/\.(?:tsx?|css|html|svg|json)$/.test(path)) hash.update(`\0${path}\0`).update(read(path));
    }
  }
  return hash.digest("hex");
}

/**
 * With "pipe", shows the output only on failure.
 * @type {(command: string, args: string[], output?: "pipe" | "inherit") => Promise<void>}
 */
async function run(command, args, output = "pipe") {
  child = spawn(command, args, { env, detached: true, stdio: ["ignore", output, output] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (text += chunk));
  const [code, killedBy] = await once(child, "close");
  if (code !== 0 || signal)
    throw new Error(`${text}${command} ended with ${killedBy ?? `exit code ${code}`}`);
}

/**
 * Runs the work in one process at a time, because two runs of npm at once break a clone.
 * @type {(isDone: () => boolean, title: string, work: () => Promise<void>) => Promise<void>}
 */
async function unless(isDone, title, work) {
  if (isDone()) return;
  for (let isFirst = true; !succeeds(() => create(LOCK), "EEXIST"); isFirst = false) {
    let holder = "";
    succeeds(() => (holder = read(LOCK)), "ENOENT");
    if (isFirst)
      console.error(`Waiting for process ${holder}. If it is not running this set-up, remove ${LOCK}*`);
    const isDead = holder && !succeeds(() => process.kill(Number(holder), 0), "ESRCH");
    // Locked separately: two waiting processes could both find the holder dead, and one remove the other's new lock.
    if (isDead && succeeds(() => create(`${LOCK}-dead`), "EEXIST")) {
      succeeds(() => read(LOCK) === holder && rmSync(LOCK), "ENOENT");
      rmSync(`${LOCK}-dead`);
    }
    await delay(200);
    if (signal) throw new Error(signal);
  }
  await (isDone() ? Promise.resolve() : withProgress(title, work)).finally(() => rmSync(LOCK));
}

/**
 * Returns false if the work fails with this file-system error code.
 * @type {(work: () => unknown, code: string) => boolean}
 */
function succeeds(work, code) {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== code) throw error;
    return false;
  }
  return true;
}
