import { spawn, type ChildProcess } from "node:child_process";
import type { EventEmitter } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { vi } from "vitest";
import { apichatProgram } from "../../dist/provider/cli/program.js";
import { reportError, useOwnFormat } from "../../dist/provider/cli/report-error.js";
import { readInstance, type Instance } from "../../dist/provider/server/data-dir.js";
import { findSpool, type SpoolCounts } from "../../dist/provider/server/spool/file.js";
import { compileCache, makeFolder } from "../support/folder.ts";
import { afterTests } from "../support/http.ts";

export { makeFolder };

/** The path of the built program, which the package's `bin` names. */
export const PROGRAM = fileURLToPath(new URL("../../dist/provider/cli/main.js", import.meta.url));

/** The output of a run of the program. */
export interface Said {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Program {
  child: ChildProcess;
  /** Resolves when the program has ended. */
  ended: Promise<Said>;
}

export interface ProgramOptions {
  /** The script to run. Default: that of `apichat`. */
  script?: string;
  environment?: Record<string, string>;
  /** A command that runs the program. It must replace itself with the program, as `exec` does. */
  under?: readonly string[];
  /** What the program reads from stdin, which is not a terminal. Default: nothing. */
  stdin?: string | undefined;
  cwd?: string | undefined;
}

/** Starts the program; it is ended after the tests if it still runs. */
export function startProgram(
  parameters: readonly string[],
  { script = PROGRAM, environment = {}, under = [], stdin, cwd }: ProgramOptions = {},
): Program {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, NODE_COMPILE_CACHE: compileCache, ...environment };
  const [command = "", ...words] = [...under, process.execPath, script, ...parameters];
  const child = spawn(command, words, { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(stdin);
  const closed = new Promise<Pick<Said, "exitCode" | "signal">>((resolve) =>
    child.once("close", (exitCode, signal) => resolve({ exitCode, signal })),
  );
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
    ([how, stdout, stderr]) => ({ ...how, stdout, stderr }),
  );
  afterTests(() => {
    child.kill("SIGKILL");
    return closed;
  });
  return { child, ended };
}

export interface HereOptions extends Pick<ProgramOptions, "environment"> {
  /** Default: empty. */
  stdin?: string | AsyncIterable<string> | undefined;
  /** Whether stdin and stderr are terminals. Default: false. */
  isTerminal?: boolean;
  /** Default: `apichat`. */
  program?: Command;
}

/** The events to which a program adds listeners. */
const LISTENED: [EventEmitter, string][] = [
  ...["SIGINT", "SIGTERM", "SIGHUP"].map((signal): [EventEmitter, string] => [process, signal]),
  [process.stdout, "error"],
  [process.stderr, "error"],
];

/**
 * Runs the command line in this process, which takes a tenth of the time of a separate process. Replaces
 * `process.exit` and the standard streams meanwhile.
 */
export async function runHere(
  parameters: readonly string[],
  { environment, stdin = "", isTerminal = false, program = apichatProgram() }: HereOptions = {},
): Promise<Said> {
  const { argv, env } = process;
  const { isTTY } = process.stderr;
  const listeners = LISTENED.map(([emitter, event]) => emitter.listeners(event));
  const said: Said = { exitCode: 0, signal: null, stdout: "", stderr: "" };
  const exited = Promise.withResolvers<void>();
  const input = Object.assign(Readable.from(stdin), { isTTY: isTerminal }) as typeof process.stdin;
  const spies = [
    ...(["stdout", "stderr"] as const).map((stream) =>
      vi.spyOn(process[stream], "write").mockImplementation((chunk, ...rest: unknown[]) => {
        said[stream] += Buffer.from(chunk as string).toString();
        const written = rest.at(-1);
        if (typeof written === "function") written();
        return true;
      }),
    ),
    vi.spyOn(process, "exit").mockImplementation((code) => {
      said.exitCode = Number(code);
      exited.resolve();
      return undefined as never;
    }),
    vi.spyOn(process, "stdin", "get").mockReturnValue(input),
  ];
  process.argv = [process.execPath, PROGRAM, ...parameters];
  process.env = { PATH: env["PATH"], HOME: env["HOME"], NO_COLOR: "1", ...environment };
  process.stderr.isTTY = isTerminal;
  useOwnFormat(program);
  try {
    await Promise.race([program.parseAsync(), exited.promise]);
  } catch (error) {
    said.exitCode = reportError(error);
  } finally {
    for (const spy of spies) spy.mockRestore();
    Object.assign(process, { argv, env });
    process.stderr.isTTY = isTTY;
    for (const [index, [emitter, event]] of LISTENED.entries()) {
      const added = emitter.listeners(event).filter((one) => !listeners[index]?.includes(one));
      for (const listener of added) emitter.off(event, listener as () => void);
    }
  }
  return said;
}

/** Like {@link runHere}. */
export const run = (...parameters: string[]): Promise<Said> => runHere(parameters);

export const KEY = "verification-key/of+acme=&<é>0123456789";
export const SECOND_KEY = "second-verification-key-0123456789abc";

/** Creates a folder with a configuration file. The folder is removed after the tests. */
export async function makeHome(config: object | string = {}) {
  const folder = await makeFolder();
  const configFile = join(folder, "config.json");
  const configure = async (given: object | string): Promise<void> => {
    const whole = { port: 0, dataDir: "data", workspaces: { acme: { verificationKeys: KEY } } };
    await writeFile(configFile, typeof given === "string" ? given : JSON.stringify({ ...whole, ...given }), {
      mode: 0o600,
    });
  };
  await configure(config);
  return { folder, dataDir: join(folder, "data"), configFile, configure };
}

export type Home = Awaited<ReturnType<typeof makeHome>>;

/** Counts the deliveries of acme that a responder keeps. */
export function countsOf({ dataDir }: Pick<Home, "dataDir">): SpoolCounts {
  const spool = findSpool(dataDir);
  const counts = spool?.counts().get("acme");
  spool?.close();
  return counts ?? { pending: 0, deadLetters: 0 };
}

/** Starts the program as a responder, and waits for its announcement. Also returns its origin. */
export async function startResponder(
  home: Home,
  parameters: readonly string[] = [],
  options: ProgramOptions = {},
) {
  const program = startProgram(["responder", "--config", home.configFile, ...parameters], options);
  const instance = await findAnnouncement(home, program);
  return { ...program, instance, origin: `http://127.0.0.1:${instance.port}` };
}

async function findAnnouncement(home: Home, { child, ended }: Program): Promise<Instance> {
  for (;;) {
    const instance = await readInstance(home.dataDir);
    // After kill -9, instance.json may still announce the killed process.
    if (instance?.pid === child.pid && instance !== undefined) return instance;
    if (child.exitCode !== null || child.signalCode !== null) throw new Error((await ended).stderr);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
