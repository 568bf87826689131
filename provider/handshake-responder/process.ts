import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ApiChatError, type ApiChatErrorCode, type Hint } from "../errors/index.js";
import { sleep } from "../lib/abort.js";
import { hasErrorCode } from "../lib/files.js";
import { quote } from "../lib/redact.js";
import { readInstance, requestStatus, requestStop, type Instance } from "../server/remote.js";
import { configPathOf } from "./data-folder.js";
import type { ProcessInputs } from "./inputs.js";

/** From a start until the process responds, in milliseconds. */
const START_MS = 20_000;

/** A graceful stop, in milliseconds. A kill after that loses nothing that was acknowledged. */
const STOP_MS = 20_000;

/** From a kill until the process is gone, in milliseconds. */
const KILL_MS = 5_000;

/** How long to wait between two inspections, in milliseconds. */
const INSPECT_EVERY_MS = 50;

/** Default: the package's own bin, run by the Node that runs this, without a shell and without PATH. */
let programWords = (): readonly string[] => [
  process.execPath,
  fileURLToPath(new URL("../cli/main.js", import.meta.url)),
];

/**
 * Sets the command that starts responders; `responder --config …` is appended to it. A bundle does not contain the
 * package's bin, so it runs itself.
 */
export function setResponderCommand(words: readonly string[]): void {
  programWords = () => words;
}

/**
 * The variables that the process inherits: the provider's environment also contains the config passphrase and cloud
 * credentials.
 */
const INHERITED = /^(PATH|HOME|TZ|LANG|TMPDIR|(HTTPS?|NO)_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;

/** An error of the process's lifecycle. */
const processError = (
  code: ApiChatErrorCode,
  summary: string,
  more: { cause?: unknown; hints?: Hint[] } = {},
): ApiChatError => new ApiChatError(code, summary, { operation: "responder", ...more });

/**
 * Returns the responder that runs on a folder, even if someone else started it. Throws `timeout` if it accepts the
 * connection but does not respond.
 */
export async function findRunning(dataDir: string): Promise<Instance | undefined> {
  const instance = await readInstance(dataDir);
  if (instance === undefined) return undefined;
  try {
    return (await requestStatus(instance)) && instance;
  } catch (error) {
    if (!isSilence(error)) throw error;
    // The announcement of a killed responder is still there, and a different program has its port now.
    if (!(await isResponder(instance.pid))) return undefined;
    throw error.with({ hints: [{ id: "end_process", pid: instance.pid }] });
  }
}

/** Whether a control interface accepted the connection but did not respond. */
const isSilence = (error: unknown): error is ApiChatError =>
  error instanceof ApiChatError && error.code === "timeout";

/** A folder that has a configuration. The keys of the workspaces are removed from what its process prints. */
export type Folder = Pick<ProcessInputs, "dataDir" | "workspaces">;

/**
 * Starts the process on a folder, and waits until it answers. It outlives the provider: it has its own session and keeps
 * nothing of the provider's open. Throws `unavailable` with its output if it exits first, or `timeout` if it does not
 * answer within 20 seconds; it is killed in that case. `instance` identifies this start.
 */
export async function startProcess(folder: Folder, instance: string = randomUUID()): Promise<Instance> {
  const child = await spawnDetached(folder.dataDir, instance);
  try {
    return await waitUntilReady(child, folder, instance);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

async function spawnDetached(dataDir: string, instance: string): Promise<ChildProcess> {
  const errors = await open(errorsPathOf(dataDir), "w", 0o600);
  try {
    const [command = "", ...words] = programWords();
    const parameters = [...words, "responder", "--config", configPathOf(dataDir), "--instance", instance];
    const child = spawn(command, parameters, {
      cwd: dataDir,
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name))),
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

async function waitUntilReady(child: ChildProcess, folder: Folder, instance: string): Promise<Instance> {
  const { dataDir } = folder;
  const failure = new Promise<Error>((resolve) => child.once("error", resolve));
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    // A different announcement belongs to an earlier process.
    const isAnnounced = (await readInstance(dataDir))?.instance === instance;
    const running = isAnnounced ? await findRunning(dataDir) : undefined;
    if (running) return running;
    if (child.exitCode !== null || child.signalCode !== null) {
      const printed = await readPrinted(folder);
      const how = `ended at its start with ${child.signalCode ?? `exit code ${child.exitCode}`}`;
      throw processError("unavailable", `the responder ${printed ? `did not start: ${printed}` : how}`);
    }
    const failed = await Promise.race([failure, sleep(INSPECT_EVERY_MS)]);
    if (failed)
      throw processError("unavailable", `the responder cannot start: ${failed.message}`, { cause: failed });
  }
  const printed = await readPrinted(folder);
  const late = `the responder did not answer within ${START_MS / 1000} s of its start, and was killed`;
  throw processError("timeout", printed ? `${late}; it printed: ${printed}` : late);
}

/** The file for its stderr, because a pipe would close with the provider. */
const errorsPathOf = (dataDir: string): string => join(dataDir, "start.log");

const QUOTED_CHARACTERS = 1_000;

async function readPrinted({ dataDir, workspaces }: Folder): Promise<string> {
  const text = await readFile(errorsPathOf(dataDir), "utf8");
  const keys = Object.values(workspaces).flatMap(({ verificationKeys }) => verificationKeys);
  return quote(text.replace(/^error: /, ""), keys, QUOTED_CHARACTERS);
}

/**
 * Stops the process that is announced in a folder and waits until it has exited: gracefully, then with SIGKILL after 20
 * seconds if the process with that pid was started with this instance ID. Any other process that now has the pid or
 * port keeps running.
 */
export async function stopProcess(dataDir: string, announced: Instance): Promise<void> {
  const { pid, instance } = announced;
  const isTracked = await isAlive(announced);
  // A responder that was started by hand has no instance ID; it removes its announcement when it exits.
  const isRunning = async (): Promise<boolean> =>
    isTracked ? isAlive(announced) : (await readInstance(dataDir))?.instance === instance;
  const stops = await requestStop(announced).catch(async (error: unknown) => {
    if (!isSilence(error)) throw error;
    return (await isResponder(pid)) ? undefined : false;
  });
  if (stops === false && !isTracked) return;
  if (await waitUntilGone(isRunning, stops ? STOP_MS : 0)) return;
  if (!isTracked) throw notEnded(pid);
  await killProcess(announced);
}

const notEnded = (pid: number): ApiChatError =>
  processError("timeout", `the responder (pid ${pid}) was asked to stop and has not ended`, {
    hints: [{ id: "end_process", pid }],
  });

/** A start of a responder, as recorded in a state or an announcement. */
type Start = Pick<Instance, "pid" | "instance">;

/** Whether the process of a start is running. A pid alone is not enough, because the system reuses pids. */
export const isAlive = async ({ pid, instance }: Start): Promise<boolean> =>
  (await commandLineOf(pid)).includes(instance);

/** Kills the process of a start. Returns whether there was one. */
export async function killProcess(start: Start): Promise<boolean> {
  if (!(await isAlive(start))) return false;
  try {
    process.kill(start.pid, "SIGKILL");
  } catch (error) {
    if (!hasErrorCode(error, "ESRCH")) throw error;
  }
  if (await waitUntilGone(() => isAlive(start), KILL_MS)) return true;
  throw notEnded(start.pid);
}

/** Waits until the process is gone. Returns false if it is not gone in time. */
async function waitUntilGone(isRunning: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  while (await isRunning()) {
    if (Date.now() >= deadline) return false;
    await sleep(INSPECT_EVERY_MS);
  }
  return true;
}

/** Whether a process may be a responder, even one that someone else started. */
const isResponder = async (pid: number): Promise<boolean> => (await commandLineOf(pid)).includes("responder");

const run = promisify(execFile);

/** For Windows, which has no `ps`. */
const queryOf = (pid: number): string =>
  `(Get-CimInstance Win32_Process -Filter 'ProcessId=${pid}').CommandLine`;

/** The words of a process's command line; empty if it has ended. */
async function commandLineOf(pid: number): Promise<string[]> {
  if (process.platform === "linux") {
    const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return text.split("\0");
  }
  const [command, words] =
    process.platform === "win32"
      ? ["powershell.exe", ["-NoProfile", "-Command", queryOf(pid)]]
      : ["ps", ["-ww", "-o", "args=", "-p", String(pid)]];
  const { stdout } = await run(command, words, { windowsHide: true }).catch(() => ({ stdout: "" }));
  return stdout.trim().split(/\s+/);
}
