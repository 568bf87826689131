import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROGRAM, run } from "./program.ts";

let folder: string;

/** A folder with `apichat` in it, for PATH. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "apichat-completion-"));
  const command = join(folder, "apichat");
  await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`);
  await chmod(command, 0o755);
});
afterAll(() => rm(folder, { recursive: true }));

/** What bash proposes at the tab key behind these words; the last one is being written. */
async function complete(...words: string[]): Promise<string[]> {
  const script = `
    set -u
    source <(apichat completion bash)
    COMP_WORDS=(apichat "$@"); COMP_CWORD=$#
    "$(complete -p apichat | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
    printf '%s\\n' "\${COMPREPLY[@]-}"`;
  const { stdout } = await execa("bash", ["--norc", "--noprofile", "-c", script, "bash", ...words], {
    env: { PATH: `${folder}:${process.env["PATH"]}` },
  });
  return stdout.split("\n").filter((line) => line !== "");
}

describe("completion in bash", () => {
  it("proposes the commands, and not the hidden one", async () => {
    const commands = await complete("");
    expect(commands).toEqual(
      expect.arrayContaining(["emulator", "listen", "doctor", "responder", "verify", "completion"]),
    );
    expect(commands).not.toContain("complete");
    expect(await complete("lis")).toEqual(["listen"]);
  });

  it("proposes subcommands, options, and the values of an option that has few", async () => {
    expect(await complete("responder", "dead")).toEqual(["dead-letters"]);
    expect(await complete("listen", "--po")).toEqual(["--port"]);
    expect(await complete("emulator", "--failed-handshake", "")).toEqual(["keeps", "clears", "unverified"]);
    expect(await complete("completion", "z")).toEqual(["zsh"]);
  });

  it("proposes options in one line each, although the help of some has several", async () => {
    expect(await complete("emulator", "--handshake-enc")).toEqual(["--handshake-encoding"]);
    const { stdout } = await run("complete", "--", "emulator", "--handshake-enc");
    expect(stdout).toMatch(/^--handshake-encoding\t.*\n:4\n?$/);
  });

  it("leaves to bash what it does not know: names of files", async () => {
    expect(await complete("emulator", "--seed", "")).toEqual([]);
    const { stdout } = await run("completion", "bash");
    expect(stdout).toMatch(/^complete -o default /m);
  });

  it("runs nothing of what is typed", async () => {
    const trace = join(folder, "was-run");
    await complete("verify", `$(touch ${trace})`, "");
    await complete("verify", `"; touch ${trace}; "`, "");
    await expect(stat(trace)).rejects.toThrow("ENOENT");
  });
});

describe("apichat completion", () => {
  it.each(["zsh", "fish", "powershell"])("prints a script for %s that asks apichat", async (shell) => {
    const { stdout, stderr, exitCode } = await run("completion", shell);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/\bcomplete\b.*--/);
    expect(stdout).toContain("apichat");
  });

  it("refuses another shell with 2, and names those that it knows", async () => {
    const { stdout, stderr, exitCode } = await run("completion", "tcsh");
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("bash, zsh, fish, powershell");
  });

  it("tells in its help how each script is installed", async () => {
    const { stdout } = await run("completion", "--help");
    for (const shell of ["bash", "zsh", "fish", "powershell"])
      expect(stdout).toContain(`completion ${shell}`);
    expect(stdout).toContain("Exit code:");
  });
});
