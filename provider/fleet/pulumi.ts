import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { relative } from "node:path";
import { createInterface } from "node:readline";
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { anySignal } from "../lib/abort.js";

/** One call of the command `pulumi`. */
export interface PulumiCall {
  args: readonly string[];
  /** The project's folder. */
  folder: string;
  /** Set in addition to the variables of this process. */
  environment: Readonly<Record<string, string>>;
  /** Asks the engine once to stop: it finishes its current steps and writes the state. */
  signal?: AbortSignal;
  /** With `--json`: called for every event. If it throws, the engine is asked to stop, and the call rejects with that error. */
  onEvent?: (event: EngineEvent) => void;
}

export interface PulumiEnd {
  call: Pick<PulumiCall, "args" | "folder">;
  /** null if a signal ended it. */
  code: number | null;
  /** Its stdout without the events. */
  output: string;
  /** Its stderr. */
  errors: string;
}

const isWindows = process.platform === "win32";

const running = new Set<ChildProcess>();

/** Ends every running engine at once. Locks of their stacks may stay. */
export function killEngines(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Runs the `pulumi` on PATH to its end. Rejects if there is none, with how to get one. */
export async function callPulumi(call: PulumiCall): Promise<PulumiEnd> {
  const { args, folder, environment, onEvent } = call;
  const child = spawn("pulumi", [...args, "--non-interactive", "--color", "never"], {
    cwd: folder,
    env: { ...process.env, PULUMI_SKIP_UPDATE_CHECK: "true", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    // A Ctrl-C on the terminal reaches this process alone, which passes it on once: a second one would end the engine at once.
    detached: !isWindows,
    // On Windows a hidden console of the engine's own has that effect; a detached process would have none, and its children open some.
    windowsHide: true,
  });
  // First of all: a command that cannot be started has no streams, and says so in an event.
  const ended = once(child, "close").catch(explainMissing) as Promise<[number | null]>;
  if (child.pid === undefined) await ended;
  running.add(child);
  const hasBegun = Promise.withResolvers<void>();
  // Once, and when the engine listens for it: one that comes earlier would kill it.
  const interrupt = (): void =>
    void Promise.race([hasBegun.promise, sleep(START_MS, undefined, { ref: false })]).then(
      // Windows has no such signal: Node would end the engine at once, with its lock and without its state. So it finishes.
      () => isWindows || child.kill("SIGINT"),
    );
  const failed = new AbortController();
  const stop = anySignal(call.signal, failed.signal);
  stop.addEventListener("abort", interrupt, { once: true });
  if (stop.aborted) interrupt();
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    hasBegun.resolve();
    const event = onEvent && parseEvent(line);
    if (event === undefined) lines.push(line);
    else if (!failed.signal.aborted) {
      try {
        onEvent?.(event);
      } catch (error) {
        failed.abort(error);
      }
    }
  });
  try {
    const [[code], errors] = await Promise.all([ended, readText(child.stderr)]);
    failed.signal.throwIfAborted();
    return { call, code, output: lines.join("\n"), errors };
  } finally {
    running.delete(child);
    stop.removeEventListener("abort", interrupt);
  }
}

function parseEvent(line: string): EngineEvent | undefined {
  if (!line.startsWith('{"sequence":')) return undefined;
  try {
    return JSON.parse(line) as EngineEvent;
  } catch {
    // The last line of an engine that was killed.
    return undefined;
  }
}

/** How long an engine may take until it prints its first event, in milliseconds. */
const START_MS = 5_000;

function explainMissing(cause: NodeJS.ErrnoException): never {
  const why =
    cause.code === "ENOENT"
      ? "is not on PATH: install it (https://www.pulumi.com/docs/install/)"
      : `cannot be run: ${String(cause)}`;
  throw new Error(`the command pulumi ${why}`, { cause });
}

/** Returns what a command printed. Throws with the command's own reason if it failed. */
export function outputOf(end: PulumiEnd): string {
  const { args, folder } = end.call;
  if (end.code === 0) return end.output;
  const reason = reasonOf(end);
  if (/currently locked|\[409\]|already in progress/.test(reason)) {
    // The engine names the lock's owner on lines of its own.
    const owner = reason.replaceAll(/\s*\n\s*/g, " ");
    const command = `pulumi cancel --cwd ${relative(process.cwd(), folder)} --stack ${args[args.indexOf("--stack") + 1]}`;
    throw new Error(
      `another run works on this stack: ${owner}; wait until it has ended. If it was killed, remove its lock: ${command}`,
    );
  }
  // The engine's own hint is for Pulumi Cloud only.
  const hint = reason.includes("PULUMI_ACCESS_TOKEN must be set")
    ? "; for a different backend set PULUMI_BACKEND_URL, such as s3://your-bucket, or run pulumi login"
    : "";
  throw new Error(reason + hint);
}

/** Why a command failed, as it printed that itself: from its first error on, if it names one. */
function reasonOf({ code, errors, output }: PulumiEnd): string {
  const lines = `${errors}\n${output}`.split("\n").map((line) => line.trim());
  const first = lines.findIndex((line) => line.startsWith("error: "));
  const texts = lines.slice(Math.max(0, first)).map((line) => line.replace(/^error: /, ""));
  const text = [...new Set(texts.filter((line) => line !== ""))].join("\n");
  return text || `pulumi ended ${code === null ? "by a signal" : `with exit code ${code}`}`;
}
