import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { isAlive, killProcess } from "../../../provider/handshake-responder/process.js";
import { afterTests } from "../../support/http.ts";
import { pretendPlatform } from "../../support/platform.ts";
import { makeFolder } from "../../support/folder.ts";

afterEach(() => vi.unstubAllEnvs());

const instance = "7f0c";

/** Has the words that a responder's command line has, and does nothing. */
async function startProcess(): Promise<number> {
  const words = ["-e", "setInterval(() => {}, 1000)", "responder", "--instance", instance];
  const child = spawn(process.execPath, words, { stdio: "ignore" });
  afterTests(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  return child.pid ?? Number.NaN;
}

test.each(["linux", "darwin"] as const)("finds and kills a process by its start, as on %s", async (name) => {
  using _ = pretendPlatform(name);
  const pid = await startProcess();
  await expect.poll(() => isAlive({ pid, instance })).toBe(true);
  expect(await isAlive({ pid, instance: "another" })).toBe(false);
  expect(await killProcess({ pid, instance: "another" })).toBe(false);
  expect(await killProcess({ pid, instance })).toBe(true);
  expect(await isAlive({ pid, instance })).toBe(false);
});

test("asks PowerShell on Windows, which quotes the words with spaces", async () => {
  const folder = await makeFolder();
  const line = String.raw`"C:\Program Files\nodejs\node.exe" main.js responder --instance ${instance}`;
  const query = "(Get-CimInstance Win32_Process -Filter 'ProcessId=17').CommandLine";
  const script = `#!/bin/sh\nif [ "$*" = "-NoProfile -Command ${query}" ]; then echo '${line}'; fi\n`;
  await writeFile(join(folder, "powershell.exe"), script, { mode: 0o755 });
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  using _ = pretendPlatform("win32");
  expect(await isAlive({ pid: 17, instance })).toBe(true);
  expect(await isAlive({ pid: 18, instance })).toBe(false);
});
