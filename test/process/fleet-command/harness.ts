import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll } from "vitest";
import type { Wishes } from "./fake-fleet.ts";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const COMMAND = [process.execPath, here("fake-fleet.ts")];

/** Of the tests of one file; gone after them. */
export let folder = "";
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "apichat-fleet-command-"))));
afterAll(() => rm(folder, { recursive: true }));

let runs = 0;

/** Starts the command line with a fake fleet, in a process of its own. */
export function start(args: readonly string[], wishes: Omit<Wishes, "callsFile"> = {}) {
  const { env, readCalls } = prepare(wishes);
  const [file = "", ...words] = [...COMMAND, ...args];
  const running = execa(file, words, { ...OPTIONS, env, stdin: "ignore" });
  return { running, readCalls };
}

/** Runs it to its end. */
export async function run(args: readonly string[], wishes: Omit<Wishes, "callsFile"> = {}) {
  const { running, readCalls } = start(args, wishes);
  const { exitCode, stdout, stderr } = await running;
  return { exitCode, stdout, stderr, calls: await readCalls() };
}

/** Runs it on a terminal, where somebody types as soon as `until` is shown. Both streams come as one. */
export async function runOnTerminal(
  args: readonly string[],
  { until, typed }: { until: string; typed: string },
  wishes: Omit<Wishes, "callsFile"> = {},
) {
  const { env, readCalls } = prepare(wishes);
  const command = [...COMMAND, ...args].map((word) => `'${word}'`).join(" ");
  const terminal = execa("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    ...OPTIONS,
    env,
  });
  let shown = "";
  terminal.stdout.on("data", (chunk: Buffer) => {
    const isAsked = shown.includes(until);
    shown += chunk.toString();
    if (!isAsked && shown.includes(until)) terminal.stdin.write(typed);
  });
  const { exitCode } = await terminal;
  return { exitCode, shown, calls: await readCalls() };
}

/** What ends the input, at the start of a line. */
export const END_OF_INPUT = "\u0004";
export const CTRL_C = "\u0003";

const OPTIONS = { extendEnv: false, reject: false } as const;

function prepare(wishes: Omit<Wishes, "callsFile">) {
  runs += 1;
  const callsFile = join(folder, `calls-${runs}`);
  const env = {
    PATH: process.env["PATH"] ?? "",
    NO_COLOR: "1",
    WISHES: JSON.stringify({ ...wishes, callsFile }),
  };
  return { env, readCalls: () => readCallsOf(callsFile) };
}

/** What was asked of the fleet: the name of each method, with what it was given. */
async function readCallsOf(file: string): Promise<{ name: string; options?: object }[]> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { name: string; options?: object });
}
