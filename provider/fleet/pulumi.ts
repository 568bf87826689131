import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { relative } from "node:path";
import { createInterface } from "node:readline";
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { isMap, jsonOrText } from "../lib/values.js";

// Why not the Automation API: see CONTRIBUTING.md.

export interface PulumiCall {
  args: readonly string[];
  folder: string;
  /** Set in addition to the variables of this process. */
  environment: Readonly<Record<string, string>>;
  /** When it fires, the engine is asked once to stop: it finishes its current steps and writes the state. */
  signal?: AbortSignal;
  /** With `--json`: called for every event. If it throws, the engine is asked to stop, and the call rejects. */
  onEvent?: (event: EngineEvent) => void;
}

export interface PulumiEnd {
  call: Pick<PulumiCall, "args" | "folder">;
  /** null if a signal ended the process. */
  code: number | null;
  output: string;
  errors: string;
}

const isWindows = process.platform === "win32";

/** How long an interrupt waits for the engine's first output, in milliseconds. */
const START_MS = 5_000;

const running = new Set<ChildProcess>();
// No engine outlives this process, but the lock of its stack may remain.
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Runs the `pulumi` on PATH until it exits. If it is not on PATH, rejects with instructions to install it. */
export async function callPulumi(call: PulumiCall): Promise<PulumiEnd> {
  const { args, folder, environment, signal, onEvent } = call;
  const child = spawn("pulumi", [...args, "--non-interactive", "--color", "never"], {
    cwd: folder,
    env: { ...process.env, PULUMI_SKIP_UPDATE_CHECK: "true", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    // Keeps Ctrl-C in the terminal away from the engine, because a second Ctrl-C would end the engine at once.
    detached: !isWindows,
    // On Windows, a hidden console does this; children of a detached process would open visible consoles.
    windowsHide: true,
  });
  // Listen first: a command that cannot be started has no streams, and reports the failure in an event.
  const ended = once(child, "close").catch(explainMissing) as Promise<[number | null]>;
  if (child.pid === undefined) await ended;
  running.add(child);
  const begun = once(child.stdout, "data");
  // Interrupt only once, and only after the engine has begun to handle signals: an earlier signal would kill it.
  const interrupt = (): void =>
    void Promise.race([begun, sleep(START_MS, undefined, { ref: false })]).then(
      // Windows has no such signal: Node would kill the engine, which would leave a lock but no new state.
      () => isWindows || child.kill("SIGINT"),
    );
  signal?.addEventListener("abort", interrupt, { once: true });
  if (signal?.aborted) interrupt();
  const lines: string[] = [];
  const read = async (): Promise<void> => {
    for await (const line of createInterface({ input: child.stdout })) {
      const event = onEvent && parseEvent(line);
      if (event) onEvent?.(event);
      else lines.push(line);
    }
  };
  const stop = async (error: unknown): Promise<never> => {
    if (!signal?.aborted) interrupt();
    child.stdout.resume();
    await ended;
    throw error;
  };
  try {
    const [[code], errors] = await Promise.all([ended, readText(child.stderr), read().catch(stop)]);
    return { call, code, output: lines.join("\n"), errors };
  } finally {
    running.delete(child);
    signal?.removeEventListener("abort", interrupt);
  }
}

/** Parses an event. Returns undefined for other text, and for the incomplete last line of a killed engine. */
function parseEvent(line: string): EngineEvent | undefined {
  const event = line.startsWith('{"sequence":') ? jsonOrText(line) : undefined;
  return isMap(event) ? (event as unknown as EngineEvent) : undefined;
}

function explainMissing(cause: NodeJS.ErrnoException): never {
  const why =
    cause.code === "ENOENT"
      ? "is not on PATH: install it (https://www.pulumi.com/docs/install/)"
      : `cannot be run: ${String(cause)}`;
  throw new Error(`the command pulumi ${why}`, { cause });
}

/** The exit code of a `pulumi` that is not logged in. */
const NOT_LOGGED_IN = 3;

/** Returns what a command printed. Throws with the command's own reason if it failed. */
export function outputOf({ call, code, output, errors }: PulumiEnd): string {
  if (code === 0) return output;
  const lines = `${errors}\n${output}`.split("\n").map((line) => line.trim());
  const first = lines.findIndex((line) => line.startsWith("error: "));
  const texts = lines.slice(Math.max(0, first)).map((line) => line.replace(/^error: /, ""));
  const reason = [...new Set(texts)].filter(Boolean).join("\n");
  // A locked stack has no special exit code; the Automation API looks for these words too.
  if (/currently locked|\[409\]/.test(reason)) {
    const stack = call.args[call.args.indexOf("--stack") + 1];
    const command = `pulumi cancel --cwd ${relative(process.cwd(), call.folder)} --stack ${stack}`;
    // The engine prints the lock's owner on separate lines.
    const owner = reason.replaceAll("\n", " ");
    throw new Error(
      `another run is using this stack: ${owner}; wait until it has ended. If it was killed, remove its lock: ` +
        command,
    );
  }
  const unexplained = `pulumi ${code === null ? "was ended by a signal" : `exited with code ${code}`}`;
  throw new Error((reason || unexplained) + hintOf(code, reason));
}

/** Returns advice that the engine does not give; for example, it explains login for Pulumi Cloud only. */
function hintOf(code: number | null, reason: string): string {
  if (code === NOT_LOGGED_IN)
    return "; for a different backend, set PULUMI_BACKEND_URL, such as s3://your-bucket, or run pulumi login";
  // The file backend writes these files in place, so a kill may leave them empty.
  if (/^(?:failed to load checkpoint: )?EOF$/m.test(reason))
    return "; a killed run left an empty file; in the backend's folder run find .pulumi -name '*.attrs' -empty -delete";
  return "";
}
