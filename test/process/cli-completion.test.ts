import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import { makeWriter } from "./cli-harness.ts";
import { PROGRAM, run } from "./program.ts";

/** A folder with `apichat` in it, for PATH. */
let folder: string;
beforeAll(async () => {
  const writeFile = await makeWriter();
  const script = `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`;
  folder = dirname(await writeFile("apichat", script, 0o755));
});

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
      expect.arrayContaining(["emulator", "listen", "doctor", "verify", "completion"]),
    );
    expect(commands).not.toContain("complete");
  });

  it.each([
    [["lis"], ["listen"]],
    [["responder", "dead"], ["dead-letters"]],
    [["listen", "--po"], ["--port"]],
    // Its help has several lines.
    [["emulator", "--handshake-enc"], ["--handshake-encoding"]],
    [
      ["emulator", "--failed-handshake", ""],
      ["keeps", "clears", "unverified"],
    ],
    [["completion", "z"], ["zsh"]],
    // Names of files are left to bash.
    [["emulator", "--seed", ""], []],
  ])("proposes behind %j: %j", async (words, proposals) => {
    expect(await complete(...words)).toEqual(proposals);
  });

  it("runs nothing of what is typed", async () => {
    const trace = `${folder}/was-run`;
    await complete("verify", `$(touch ${trace})`, "");
    await complete("verify", `"; touch ${trace}; "`, "");
    await expect(stat(trace)).rejects.toThrow("ENOENT");
  });
});

describe("apichat completion", () => {
  it.each([
    ["bash", /^complete -o default /m],
    ["zsh", /\bcomplete\b.*--/],
    ["fish", /\bcomplete\b.*--/],
    ["powershell", /\bcomplete\b.*--/],
  ])("prints a script for %s that asks apichat; its help has how to install it", async (shell, asking) => {
    const { stdout, stderr, exitCode } = await run("completion", shell);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(asking);
    expect((await run("completion", "--help")).stdout).toContain(`completion ${shell}`);
  });

  it("refuses another shell with 2, and names those that it knows", async () => {
    const { stdout, stderr, exitCode } = await run("completion", "tcsh");
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("bash, zsh, fish, powershell");
  });
});
