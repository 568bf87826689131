import { spawn, type ChildProcess } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, vi } from "vitest";
import { afterTests } from "./http.ts";

/** Opens a shell that keeps its folder and its variables from one command to the next. */
export function openTerminal(cwd: string, env: Record<string, string>) {
  const shell: ChildProcess = spawn("sh", ["-e"], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  let isOpen = true;
  let count = 0;
  shell.stdout?.on("data", (chunk) => (output += String(chunk)));
  shell.stderr?.on("data", (chunk) => (output += String(chunk)));
  shell.on("close", () => (isOpen = false));
  afterTests(() => shell.kill("SIGKILL"));
  const waitFor = async (pattern: RegExp): Promise<string> => {
    await vi.waitUntil(() => pattern.test(output) || !isOpen, { timeout: 200_000, interval: 20 });
    expect(output).toMatch(pattern);
    return output;
  };
  /** The commands cannot read the shell's stdin, because it contains the next lines for the shell. */
  const paste = (commands: string): void => void shell.stdin?.write(`{ ${commands}\n} </dev/null\n`);
  return {
    paste,
    waitFor,
    /** Runs commands that must succeed, and returns their output. */
    run: async (commands: string): Promise<string> => {
      const mark = `end-of-commands-${(count += 1)}`;
      const start = output.length;
      paste(commands);
      shell.stdin?.write(`echo ${mark} $?\n`);
      await waitFor(new RegExp(`${mark} \\d`));
      const printed = output.slice(start);
      expect(printed).toContain(`${mark} 0`);
      return printed.slice(0, printed.indexOf(mark));
    },
  };
}

/**
 * Waits until nothing listens on this port, and throws after ten seconds. It waits because the system closes
 * the ports of a killed program a moment after the program has ended.
 */
export async function requireFree(port: number): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (await isListening(port)) {
    if (Date.now() > deadline)
      throw new Error(`port ${port}, which the page uses, is in use: end the program that listens on it`);
    await sleep(50);
  }
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });

/** Adapts the commands of a page: no prompts, no previews before an update, and no packages from a registry. */
export const withoutQuestions = (commands: string): string =>
  commands
    .replaceAll(/^npm install( &&\n)?/gm, "")
    .replaceAll(/&&\s*$/g, "")
    .replaceAll(/^pulumi (up|refresh|destroy)/gm, "pulumi $1 --yes --skip-preview")
    .replaceAll(/^pulumi preview /gm, "pulumi preview --diff ");
