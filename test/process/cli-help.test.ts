import { beforeAll, describe, expect, test } from "vitest";
import { makeFolder, runCli } from "./cli-harness.ts";
import { TELL_PACKAGES } from "./tell-packages.ts";

let hook: string;
beforeAll(async () => {
  const writeFile = await makeFolder();
  hook = await writeFile("tell-packages.mjs", TELL_PACKAGES);
});

describe("--help", () => {
  test.each([
    "",
    "init",
    "webhook",
    "webhook get",
    "webhook set",
    "webhook delete",
    "webhook plan",
    "send",
    "send text",
    "send button",
    "send image",
    "send audio",
    "send video",
    "send file",
    "sign",
    "verify",
  ])("of apichat %s has examples and exit codes, and loads no package but commander", async (command) => {
    const { exitCode, stdout, stderr } = await runCli([...command.split(" "), "--help"].filter(Boolean), {
      environment: { NODE_OPTIONS: `--import=${hook}` },
    });
    expect(exitCode).toBe(0);
    expect([...new Set(stderr.trim().split("\n"))]).toEqual(["commander"]);
    expect(stdout).toMatch(/\nExamples:\n {2}\$ /);
    expect(stdout).toMatch(/\nExit code: 0 /);
    expect(stdout).toContain("--json");
    expect(stdout).not.toContain("\u001b");
  });
});
