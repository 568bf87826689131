import { beforeAll, describe, expect, test } from "vitest";
import { LIST_PACKAGES, makeWriter, runCli, wrongUse } from "./cli-harness.ts";

let hook: string;
beforeAll(async () => {
  const writeFile = await makeWriter();
  hook = await writeFile("list-packages.mjs", LIST_PACKAGES);
});

test.each([
  ["", "init"],
  ["webhook", "webhook get", "webhook set", "webhook delete", "webhook plan"],
  ["send", "send text", "send button", "send image", "send audio", "send video", "send file"],
  ["sign", "verify", "doctor", "listen", "emulator"],
  ["responder deliveries", "responder dead-letters", "responder replay", "responder retry"],
])(
  "--help has examples and exit codes, and loads no package but commander: apichat %s, %s …",
  async (...all) => {
    for (const command of all) {
      const { exitCode, stdout, stderr } = await runCli([...command.split(" "), "--help"].filter(Boolean), {
        environment: { NODE_OPTIONS: `--import=${hook}` },
      });
      expect({ command, exitCode, packages: [...new Set(stderr.trim().split("\n"))] }).toEqual({
        command,
        exitCode: 0,
        packages: ["commander"],
      });
      expect(stdout).toMatch(/\nExamples:\n {2}\$ [^]*\nExit code: 0 /);
      expect(stdout).toContain("--json");
      expect(stdout).not.toContain("\u001b");
    }
  },
);

describe("what the command line does not know", () => {
  test.each([
    ["frob", "unknown command 'frob'; see apichat --help"],
    ["webhook frob", "unknown command 'frob'; see apichat webhook --help"],
    ["webhook get --frob", "unknown option '--frob'; see apichat webhook get --help"],
    ["verify", "missing required argument 'url'; see apichat verify --help"],
  ])("apichat %s is wrong use, and names where the help is", async (words, message) => {
    expect(await runCli([...words.split(" "), "--json"])).toMatchObject(wrongUse(message));
  });
});
