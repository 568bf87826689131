import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runCliProcess } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

it("apichat doctor prints a row for each check, hints at fixes, and exits with 1 if a check fails", async () => {
  const folder = await makeFolder();
  const options = { cwd: folder, environment: { PATH: folder } };
  const { exitCode, stdout, stderr } = await runCliProcess(["doctor"], options);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^ok +Node\.js +v\d/m);
  expect(stdout).toMatch(/^warning +Pulumi CLI +not on PATH +install Pulumi 3\.216\.0/m);
  await writeFile(join(folder, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
  const failed = await runCliProcess(["doctor", "--json"], options);
  expect(failed).toMatchObject({ exitCode: 1, stderr: "" });
  const checks = expect.arrayContaining([expect.objectContaining({ name: "Pulumi CLI", status: "failed" })]);
  expect(failed.json).toEqual({ passed: false, checks });
});
