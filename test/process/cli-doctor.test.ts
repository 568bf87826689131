import { expect, it } from "vitest";
import { runCli, startService, VERIFICATION_KEY } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

async function doctor(parameters: readonly string[], environment: Record<string, string> = {}) {
  const folder = await makeFolder();
  return runCli(["doctor", ...parameters], { cwd: folder, environment: { PATH: folder, ...environment } });
}

it("prints a line for each check, hints below, and ends with 0 without a program", async () => {
  const { exitCode, stdout, stderr } = await doctor([]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^ok {7}Node\.js {9}v\d/m);
  expect(stdout).toMatch(/^warning {2}Pulumi CLI {6}not on PATH\n {25}hint: install Pulumi 3\.216\.0/m);
});

it("takes addresses and keys as every command does, and ends with 1 where a check fails", async () => {
  const { baseUrl } = (await startService()).workspace("acme");
  const keys = { APICHAT_API_KEY: "a-wrong-api-key", APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };
  const { exitCode, json, stderr } = await doctor(["--base-url", baseUrl, "--json"], keys);
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
  const checks = expect.arrayContaining([expect.objectContaining({ name: "base URL", status: "failed" })]);
  expect(json).toEqual({ passed: false, checks });
});
