import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Whether a process is that start of a responder: its command line names the instance. A pid alone says nothing, because
 * the system gives it to another process later.
 */
export async function isInstanceOf(pid: number, instance: string): Promise<boolean> {
  return (await commandLineOf(pid)).includes(instance);
}

/** Whether a process may be a responder, whoever started it. */
export async function isResponder(pid: number): Promise<boolean> {
  return (await commandLineOf(pid)).includes("responder");
}

/** The words with which a process was started; none if it has ended. */
async function commandLineOf(pid: number): Promise<string[]> {
  if (process.platform === "linux") {
    const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return text.split("\0");
  }
  const { stdout } = await run("ps", ["-ww", "-o", "args=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return stdout.trim().split(/\s+/);
}
