import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { orAborted } from "../../lib/abort.js";
import { toPlainLines } from "../../lib/plain-text.js";
import { UsageError } from "../usage-error.js";

/** How each program starts a tunnel to a local port, and how a line of its output shows the public URL. */
const PROGRAMS = {
  cloudflared: {
    args: (local: string) => ["tunnel", "--url", local],
    url: /\|\s+(https?:\/\/[^\s|]+)\s+\|/,
  },
  ngrok: {
    args: (local: string) => ["http", local, "--log", "stdout", "--log-format", "json"],
    url: /"url":"(https?:[^"]+)"/,
  },
  tailscale: { args: (local: string) => ["funnel", local], url: /^(https?:\/\/\S+)/ },
};

export type TunnelProgram = keyof typeof PROGRAMS;
export const TUNNEL_PROGRAMS = Object.keys(PROGRAMS) as TunnelProgram[];

/** How long a program may take to print its URL, in milliseconds. */
const START_MS = 30_000;

/** How many of its last lines an error shows. */
const SHOWN_LINES = 10;

export interface Tunnel {
  program: TunnelProgram;
  pid: number | undefined;
  /** The public URL. */
  url: string;
  /** Resolves when the program has ended by itself, with its last lines. */
  ended: Promise<string>;
  close: () => void;
}

/**
 * Starts a tunnel to a local URL with a program on PATH, and waits for its public URL. Throws a UsageError if
 * there is no such program, and an error with its last lines if it ends or prints no URL within 30 seconds.
 * Rejects with the signal's reason.
 */
export async function openTunnel(
  program: TunnelProgram,
  local: string,
  signal: AbortSignal,
): Promise<Tunnel> {
  const { args, url: pattern } = PROGRAMS[program];
  // A group of its own: the terminal's Ctrl-C must not end it before its URL is no longer registered.
  const child = spawn(program, args(local), { detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const close = (): void => void child.kill("SIGTERM");
  const last: string[] = [];
  const found = Promise.withResolvers<string>();
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      last.push(toPlainLines(line));
      if (last.length > SHOWN_LINES) last.shift();
      const url = pattern.exec(line)?.[1];
      if (url !== undefined) found.resolve(url);
    });
  }
  const ended = new Promise<string>((resolve) => {
    child.once("close", () => resolve(last.join("\n")));
  });
  const fail = (what: string): void => found.reject(new Error([`${program} ${what}`, ...last].join("\n  ")));
  child.once("error", (error: NodeJS.ErrnoException) =>
    found.reject(
      error.code === "ENOENT"
        ? new UsageError(
            `--tunnel: there is no ${program} on PATH; install it, or choose a different program`,
          )
        : error,
    ),
  );
  child.once("close", () => fail("has ended before it printed a URL"));
  const timer = setTimeout(() => fail(`printed no URL within ${START_MS / 1000} s`), START_MS);
  process.once("exit", close);
  try {
    return { program, pid: child.pid, url: await orAborted(found.promise, signal), ended, close };
  } catch (error) {
    close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
