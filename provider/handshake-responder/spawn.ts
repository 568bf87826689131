import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { quote } from "../lib/redact.js";
import { readInstance } from "../server/control-client.js";
import { configPathOf } from "./config-file.js";
import { processEnvironment } from "./environment.js";
import { processError } from "./failure.js";
import { LOOK_EVERY_MS, START_MS } from "./limits.js";
import { PROGRAM } from "./program.js";
import { findRunning, type Running } from "./running.js";

export interface StartOptions {
  dataDir: string;
  /** Taken out of what it says. */
  secrets: readonly string[];
  /** Which start it is. Default: a new one. */
  instance?: string;
}

const QUOTED_CHARACTERS = 1_000;

/**
 * Starts the process on a folder whose configuration is written, and waits until it answers. It outlives the provider: a
 * session of its own, and nothing of the provider's that it would keep open. Throws `unavailable` with what it said if it
 * ends before, `timeout` if it does not answer in 20 seconds; it does not run on then.
 */
export async function startProcess({
  dataDir,
  secrets,
  instance = randomUUID(),
}: StartOptions): Promise<Running> {
  const child = await spawnDetached(dataDir, instance);
  try {
    return await waitUntilReady(child, { dataDir, secrets, instance });
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

async function waitUntilReady(
  child: ChildProcess,
  { dataDir, secrets, instance }: Required<StartOptions>,
): Promise<Running> {
  const failure = new Promise<Error>((resolve) => child.once("error", resolve));
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    const running = await findStarted(dataDir, instance);
    if (running) return running;
    if (hasEnded(child)) throw await describeEnd(child, dataDir, secrets);
    const failed = await Promise.race([failure, sleep(LOOK_EVERY_MS)]);
    if (failed) throw processError("unavailable", `the responder cannot start: ${failed.message}`, failed);
  }
  const said = await readErrors(dataDir, secrets);
  throw processError(
    "timeout",
    `the responder did not answer within ${START_MS / 1000} s of its start, and was ended${said === "" ? "" : `; it said: ${said}`}`,
  );
}

async function findStarted(dataDir: string, instance: string): Promise<Running | undefined> {
  // Another announcement is that of a process before it.
  return (await readInstance(dataDir))?.instance === instance ? findRunning(dataDir) : undefined;
}

async function spawnDetached(dataDir: string, instance: string): Promise<ChildProcess> {
  const errors = await open(errorsPathOf(dataDir), "w", 0o600);
  const [command, ...program] = PROGRAM;
  const parameters = ["responder", "--config", configPathOf(dataDir), "--instance", instance];
  try {
    const child = spawn(command, [...program, ...parameters], {
      cwd: dataDir,
      env: processEnvironment(),
      detached: true,
      stdio: ["ignore", "ignore", errors.fd],
      windowsHide: true,
    });
    child.unref();
    return child;
  } finally {
    await errors.close();
  }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function describeEnd(child: ChildProcess, dataDir: string, secrets: readonly string[]): Promise<Error> {
  const how = child.exitCode === null ? `the signal ${child.signalCode}` : `exit code ${child.exitCode}`;
  const said = await readErrors(dataDir, secrets);
  return processError(
    "unavailable",
    said === "" ? `the responder ended at its start with ${how}` : `the responder did not start: ${said}`,
  );
}

/** What it wrote on stderr: a file, because a pipe would end with the provider. */
const errorsPathOf = (dataDir: string): string => join(dataDir, "start.log");

async function readErrors(dataDir: string, secrets: readonly string[]): Promise<string> {
  const text = await readFile(errorsPathOf(dataDir), "utf8");
  const lines = text.split("\n").filter((line) => !NODE_WARNING.test(line));
  return quote(lines.join("\n").replace(/^error: /, ""), secrets, QUOTED_CHARACTERS);
}

/** Node 22 warns of node:sqlite. */
const NODE_WARNING = /ExperimentalWarning|^\(Use `node --trace-warnings/;
