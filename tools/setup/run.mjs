import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const outputLinesKept = 200;

/** A command that could not be started or did not end with exit code 0. `output` is the end of what it printed; the message ends with it. */
export class CommandError extends Error {
  /**
   * @param {string} reason
   * @param {string} output
   */
  constructor(reason, output) {
    super([reason, output].filter(Boolean).join("\n"));
    this.name = "CommandError";
    this.reason = reason;
    this.output = output;
  }
}

/** The user has ended the run. */
export class Interrupted extends Error {
  /** @param {number} exitCode */
  constructor(exitCode) {
    super("interrupted");
    this.name = "Interrupted";
    this.exitCode = exitCode;
  }
}

/**
 * Aborts on the first Ctrl-C, SIGTERM or SIGHUP. The reason is an `Interrupted`, which names the exit code.
 *
 * @returns {AbortSignal}
 */
export function abortOnSignals() {
  const controller = new AbortController();
  for (const [name, exitCode] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
    process.on(name, () => controller.abort(new Interrupted(exitCode)));
  }
  return controller.signal;
}

/**
 * Does the work of a tool and sets the exit code: what `work` gives, else 0. If it fails, its message is printed and the
 * code is `failed`; if the user ended it, the code is the one of the signal.
 *
 * @param {() => Promise<number | void>} work
 * @param {number} [failed]
 */
export async function runTool(work, failed = 1) {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    if (!(error instanceof Interrupted)) console.error(error instanceof Error ? error.message : error);
    process.exitCode = error instanceof Interrupted ? error.exitCode : failed;
  }
}

/**
 * Runs a command in a process group of its own, which Ctrl-C in the terminal does not reach, and returns what it printed
 * on stdout and stderr. When `signal` aborts, the whole group is ended (SIGTERM, after `graceMs` SIGKILL) before the
 * promise rejects with the reason of the signal. Throws `CommandError` if the command fails.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {object} [options]
 * @param {string} [options.cwd]
 * @param {NodeJS.ProcessEnv} [options.env] the whole environment; default: that of this process
 * @param {AbortSignal} [options.signal]
 * @param {number} [options.graceMs] default 3000
 * @param {boolean} [options.showStderr] the command writes to this process's stderr itself
 * @param {string} [options.input] what the command reads on stdin; default: nothing
 * @param {(line: string) => void} [options.onLine] each line of output as it comes
 * @returns {Promise<string>}
 */
export async function run(command, args, options = {}) {
  const { cwd, env, signal, graceMs = 3000, showStderr = false, input = "", onLine } = options;
  signal?.throwIfAborted();
  const stdio = /** @type {const} */ (["pipe", "pipe", showStderr ? "inherit" : "pipe"]);
  const child = spawn(command, args, { cwd, env, detached: true, stdio: [...stdio] });
  // A command that ends without reading it: its exit code says more.
  child.stdin?.on("error", () => undefined).end(input);
  /** @type {string[]} */
  const lines = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on("line", (line) => {
      if (lines.push(line) > outputLinesKept) lines.shift();
      onLine?.(line);
    });
  }
  /** @type {Promise<void> | undefined} */
  let ending;
  const end = () => void (ending = endGroup(child.pid, graceMs));
  signal?.addEventListener("abort", end, { once: true });
  try {
    const [code, killedBy] = await once(child, "close");
    await ending;
    signal?.throwIfAborted();
    if (code === 0) return lines.join("\n");
    throw new CommandError(`${command} ended with ${killedBy ?? `exit code ${code}`}`, lines.join("\n"));
  } catch (error) {
    if (error instanceof Error && "syscall" in error) throw new CommandError(error.message, "");
    throw error;
  } finally {
    signal?.removeEventListener("abort", end);
  }
}

/**
 * @param {number | undefined} id
 * @param {number} graceMs
 */
async function endGroup(id, graceMs) {
  if (id === undefined || !signalProcess(-id, "SIGTERM")) return;
  const deadlineMs = Date.now() + graceMs;
  while (Date.now() < deadlineMs && signalProcess(-id, 0)) await delay(50);
  signalProcess(-id, "SIGKILL");
}

/**
 * Sends a signal to a process, or to a whole group if `id` is negative; 0 only asks. False when there is none.
 *
 * @param {number} id
 * @param {NodeJS.Signals | 0} signal
 */
export function signalProcess(id, signal) {
  try {
    return process.kill(id, signal);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}
