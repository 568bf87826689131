import { execa } from "execa";
import { constants } from "node:os";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { signalIfAlive } from "./processes.ts";

/**
 * The error of a command that did not start, or did not exit with code 0. `output` is the command's output;
 * the message ends with it.
 */
export class CommandError extends Error {
  readonly reason: string;
  readonly output: string;

  constructor(reason: string, output = "") {
    super([reason, output].filter(Boolean).join("\n"));
    this.reason = reason;
    this.output = output;
  }
}

/** The error of a run that the user has interrupted. */
class Interrupted extends Error {
  readonly exitCode: number;

  constructor(signal: keyof typeof constants.signals) {
    super("Interrupted; every process that was started has ended.");
    this.exitCode = 128 + constants.signals[signal];
  }
}

/** Returns a signal that aborts on the first Ctrl-C, SIGTERM or SIGHUP. The reason is an `Interrupted`. */
export function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => controller.abort(new Interrupted(name)));
  }
  return controller.signal;
}

/** Runs a tool's work and sets the exit code: what `work` returns, 0 if that is nothing, `failed` if it throws. */
export async function runTool(work: () => Promise<number | void>, failed = 1): Promise<void> {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = error instanceof Interrupted ? error.exitCode : failed;
  }
}

interface RunOptions {
  cwd?: string;
  /** The whole environment; default: this process's. */
  env?: NodeJS.ProcessEnv;
  /** On abort, the command and everything that it has started are ended; then the promise rejects with the reason. */
  signal?: AbortSignal;
  /** How long the command may take to end after SIGTERM. */
  graceMs?: number;
  /** The stdin of the command. */
  input?: string;
  /** Called with each line of output. */
  onLine?: (line: string) => void;
}

/**
 * Runs a command in its own process group, which Ctrl-C does not reach, and returns its output. Throws
 * `CommandError`.
 */
export async function run(
  command: string,
  args: readonly string[],
  { cwd, env = process.env, signal, graceMs = 3000, input = "", onLine }: RunOptions = {},
): Promise<string> {
  signal?.throwIfAborted();
  const options = { cwd, env, input, extendEnv: false, detached: true, all: true, reject: false } as const;
  const child = execa(command, args, options);
  let ending: Promise<void> | undefined;
  const end = (): void => void (ending = child.pid === undefined ? undefined : endGroup(child.pid, graceMs));
  signal?.addEventListener("abort", end);
  try {
    if (onLine) for await (const line of child.iterable({ from: "all" })) onLine(line);
    const { failed, exitCode, signal: killedBy, all, code, originalMessage } = await child;
    await ending;
    signal?.throwIfAborted();
    if (!failed) return all;
    if (code !== undefined) throw new CommandError(originalMessage ?? code);
    throw new CommandError(`${command} ended with ${killedBy ?? `exit code ${exitCode}`}`, all);
  } finally {
    signal?.removeEventListener("abort", end);
  }
}

/** Runs a command on the terminal of this process, and returns its exit code. An abort ends the command. */
export async function runAttached(
  [command = "", ...args]: readonly string[],
  { env = {}, signal }: Pick<RunOptions, "env" | "signal">,
): Promise<number> {
  const options = { preferLocal: true, stdio: "inherit", reject: false } as const;
  const result = await execa(command, args, { ...options, env, ...(signal && { cancelSignal: signal }) });
  signal?.throwIfAborted();
  if (result.code !== undefined) throw new CommandError(result.originalMessage ?? result.code);
  return result.exitCode ?? 1;
}

/** Ends a process group: SIGTERM, then SIGKILL after the grace period. */
async function endGroup(pid: number, graceMs: number): Promise<void> {
  signalIfAlive(-pid, "SIGTERM");
  const deadlineMs = Date.now() + graceMs;
  while (Date.now() < deadlineMs && signalIfAlive(-pid, 0)) await delay(50);
  signalIfAlive(-pid, "SIGKILL");
}
