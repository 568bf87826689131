import { expect, it } from "vitest";
import { runCliProcess } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

it("prints a line for each check with hints below, and ends with 1 if a check fails", async () => {
  const folder = await makeFolder();
  const doctor = (...parameters: string[]) =>
    runCliProcess(["doctor", ...parameters], { cwd: folder, environment: { PATH: folder } });
  const { exitCode, stdout, stderr } = await doctor();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^ok {7}Node\.js {6}v\d/m);
  expect(stdout).toMatch(/^warning {2}Pulumi CLI {3}not on PATH\n {22}hint: install Pulumi 3\.216\.0/m);
  expect(stdout).toMatch(/^skipped {2}webhook URL {2}pass --webhook-url$/m);
  const failed = await doctor("--base-url", "http://127.0.0.1:1", "--json");
  expect(failed).toMatchObject({ exitCode: 1, stderr: "" });
  const checks = expect.arrayContaining([expect.objectContaining({ name: "base URL", status: "failed" })]);
  expect(failed.json).toEqual({ passed: false, checks });
});
