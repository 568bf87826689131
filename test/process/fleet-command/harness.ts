import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { makeFolder, startProgram } from "../program.ts";
import type { Wishes } from "./fake-fleet.ts";

const SCRIPT = fileURLToPath(new URL("fake-fleet.ts", import.meta.url));

/** Starts the command line with a fake fleet, in its own process. */
export async function start(args: readonly string[], wishes: Omit<Wishes, "callsFile"> = {}) {
  const { environment, readCalls } = await prepare(wishes);
  return { ...startProgram(args, { script: SCRIPT, environment }), readCalls };
}

/** Runs it to its end. */
export async function run(args: readonly string[], wishes: Omit<Wishes, "callsFile"> = {}) {
  const { ended, readCalls } = await start(args, wishes);
  const { exitCode, stdout, stderr } = await ended;
  return { exitCode, stdout: stdout.trimEnd(), stderr: stderr.trimEnd(), calls: readCalls() };
}

/** Runs it on a terminal, where somebody types once `until` is shown. Returns stdout and stderr together. */
export async function runOnTerminal(
  args: readonly string[],
  { until, typed }: { until: string; typed: string },
  wishes: Omit<Wishes, "callsFile">,
) {
  const { environment, readCalls } = await prepare(wishes);
  const command = [process.execPath, SCRIPT, ...args].map((word) => `'${word}'`).join(" ");
  const words = ["--quiet", "--return", "--command", command, "/dev/null"];
  const terminal = execa("script", words, { env: environment, reject: false });
  let shown = "";
  terminal.stdout.on("data", (chunk: Buffer) => {
    const isAsked = shown.includes(until);
    shown += chunk.toString();
    if (!isAsked && shown.includes(until)) terminal.stdin.write(typed);
  });
  return { exitCode: (await terminal).exitCode, calls: readCalls() };
}

/** Ctrl-D, which ends the input at the start of a line. */
export const END_OF_INPUT = "\u0004";
export const CTRL_C = "\u0003";

/** `readCalls` returns the calls of the fleet: the name of each method with its arguments. */
async function prepare(wishes: Omit<Wishes, "callsFile">) {
  const callsFile = join(await makeFolder(), "calls");
  const readCalls = (): { name: string; options?: object }[] => {
    const lines = existsSync(callsFile) ? readFileSync(callsFile, "utf8").split("\n").filter(Boolean) : [];
    return lines.map((line) => JSON.parse(line) as { name: string; options?: object });
  };
  return { environment: { NO_COLOR: "1", WISHES: JSON.stringify({ ...wishes, callsFile }) }, readCalls };
}
