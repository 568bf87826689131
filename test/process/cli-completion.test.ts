import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { execa } from "execa";
import { beforeAll, expect, it } from "vitest";
import { makeWriter } from "./cli-harness.ts";
import { PROGRAM, run } from "./program.ts";

/** A folder with `apichat` in it, for PATH. */
let folder: string;
beforeAll(async () => {
  const writeFile = await makeWriter();
  const script = `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`;
  folder = dirname(await writeFile("apichat", script, 0o755));
});

/** Returns what bash completes for each of these lines; the last word, after the last blank, is incomplete. */
async function complete(...lines: string[]): Promise<string[][]> {
  const script = `
    set -u
    source <(apichat completion bash)
    propose="$(complete -p apichat | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
    for line; do
      IFS=' ' read -ra COMP_WORDS <<< "apichat $line|"
      COMP_WORDS[-1]="\${COMP_WORDS[-1]%|}"; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=()
      "$propose"
      echo "\${COMPREPLY[*]-}"
    done`;
  const { stdout } = await execa("bash", ["--norc", "--noprofile", "-c", script, "bash", ...lines], {
    env: { PATH: `${folder}:${process.env["PATH"]}` },
    stripFinalNewline: false,
  });
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(" ").filter(Boolean));
}

it("completes commands, options and values in bash", async () => {
  const expected: Record<string, string[]> = {
    lis: ["listen"],
    // The hidden command is not completed.
    comp: ["completion"],
    "responder dead": ["dead-letters"],
    "listen --po": ["--port"],
    // Its help has several lines.
    "emulator --handshake-enc": ["--handshake-encoding"],
    "emulator --failed-handshake ": ["keeps", "clears", "unverified"],
    // Rejected, so not completed.
    "webhook get --api-key": ["--api-key-as", "--api-key-file"],
    // bash completes file names.
    "emulator --seed ": [],
  };
  const lines = Object.keys(expected);
  const proposals = await complete(...lines);
  const found = Object.fromEntries(lines.map((line, index) => [line, proposals[index]?.toSorted()]));
  expect(found).toEqual(Object.fromEntries(lines.map((line) => [line, expected[line]?.toSorted()])));
});

it("runs no part of the typed line", async () => {
  const trace = `${folder}/was-run`;
  await complete(`verify $(touch\${IFS}${trace}) `, `verify ";touch\${IFS}${trace};" `);
  await expect(stat(trace)).rejects.toThrow("ENOENT");
});

it("prints a script for every shell that calls apichat; its help explains the installation", async () => {
  const help = (await run("completion", "--help")).stdout;
  for (const shell of ["zsh", "fish", "powershell"]) {
    const { stdout, stderr, exitCode } = await run("completion", shell);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/\bcomplete\b.*--/);
    expect(help).toContain(`completion ${shell}`);
  }
});
