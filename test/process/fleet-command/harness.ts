import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { makeFolder } from "../program.ts";
import type { Wishes } from "./fake-fleet.ts";

const COMMAND = fileURLToPath(new URL("fake-fleet.ts", import.meta.url));

/** What ends the input, at the start of a line. */
export const END_OF_INPUT = "\u0004";
export const CTRL_C = "\u0003";

/** Starts the command line with a fake fleet, in a process of its own. */
export async function start(args: readonly string[], wishes: Wishes = {}) {
  const { options, readCalls } = await prepare(wishes);
  const running = execa(process.execPath, [COMMAND, ...args], { ...options, stdin: "ignore" });
  return { running, readCalls };
}

/** Runs it to its end. */
export async function run(args: readonly string[], wishes?: Wishes) {
  const { running, readCalls } = await start(args, wishes);
  const { exitCode, stdout, stderr } = await running;
  return { exitCode, stdout, stderr, calls: readCalls(), called: readCalls().map(({ name }) => name) };
}

/** Runs it on a terminal, where somebody types as soon as `until` is shown. Both streams come as one. */
export async function runOnTerminal(
  args: readonly string[],
  { until, typed }: { until: string; typed: string },
  wishes?: Wishes,
) {
  const { options, readCalls } = await prepare(wishes);
  const command = [process.execPath, COMMAND, ...args].map((word) => `'${word}'`).join(" ");
  const terminal = execa("script", ["--quiet", "--return", "--command", command, "/dev/null"], options);
  let shown = "";
  terminal.stdout.on("data", (chunk: Buffer) => {
    const isAsked = shown.includes(until);
    shown += chunk.toString();
    if (!isAsked && shown.includes(until)) terminal.stdin.write(typed);
  });
  const { exitCode } = await terminal;
  return { exitCode, shown, called: readCalls().map(({ name }) => name) };
}

async function prepare(wishes: Wishes = {}) {
  const callsFile = join(await makeFolder(), "calls");
  const env = {
    PATH: process.env["PATH"] ?? "",
    NO_COLOR: "1",
    WISHES: JSON.stringify(wishes),
    CALLS_FILE: callsFile,
  };
  /** What was asked of the fleet: the name of each method, with what it was given. */
  const readCalls = (): { name: string; options?: object }[] =>
    (existsSync(callsFile) ? readFileSync(callsFile, "utf8") : "")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { name: string; options?: object });
  return { options: { env, extendEnv: false, reject: false } as const, readCalls };
}
