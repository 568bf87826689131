import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openFleet } from "../../dist/provider/fleet/fleet.js";
import { resolveFleet, type FleetDefinition } from "../../dist/provider/fleet/definition.js";
import { prepareProject, withProgram } from "../../dist/provider/fleet/project.js";
import { outputsProgram } from "../../dist/provider/fleet/yaml-program.js";
import { makeFolder } from "./program.ts";

const MINUTE_MS = 60_000;

const definitionIn = (folder: string): FleetDefinition => ({
  name: "test",
  stacks: 1,
  folder,
  workspaces: [{ name: "acme", baseUrl: "https://platform.example/acme" }],
  webhook: ({ baseUrl }) => ({
    baseUrl,
    webhookUrl: "https://chat.example/",
    webhookVerificationKey: "0123456789abcdefghij",
  }),
});

test("another command leaves the folder of a run alone that is older than an hour", async () => {
  const fleet = await resolveFleet(definitionIn(await makeFolder()));
  await prepareProject(fleet);
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());

  await withProgram(fleet, outputsProgram({}), async (ofRun) => {
    for (let minute = 0; minute < 90; minute++) {
      vi.advanceTimersByTime(MINUTE_MS);
      await vi.waitFor(async () => expect(Date.now() - (await stat(ofRun)).mtimeMs).toBeLessThan(MINUTE_MS));
    }
    await prepareProject(fleet);
    expect(await readdir(ofRun)).toEqual(["Main.json", "Pulumi.yaml"]);
  });
  // A run that has ended leaves nothing.
  expect(await readdir(fleet.folder)).toEqual([".gitignore", "Pulumi.yaml"]);
});

test("write writes the project of a stack for its owner only, and leaves other projects alone", async () => {
  const folder = await makeFolder();
  const fleet = await openFleet(definitionIn(join(folder, ".fleet")));
  const target = join(folder, "stack");
  // The second time it replaces its own.
  for (const _ of [1, 2]) await fleet.write("test-0-of-1", target);
  for (const file of ["Main.json", "Pulumi.yaml"]) {
    expect((await stat(join(target, file))).mode & 0o777).toBe(0o600);
  }
  expect(JSON.parse(await readFile(join(target, "Pulumi.yaml"), "utf8"))).toMatchObject({
    name: "apichat-fleet",
    runtime: "yaml",
    packages: { apichat: expect.stringMatching(/^\.\/.*plugin$/) as string },
  });
  await expect(fleet.write("test-1-of-1", target)).rejects.toThrow("give one of test-0-of-1");
  await writeFile(join(folder, "Pulumi.yaml"), "name: another\n");
  await expect(fleet.write("test-0-of-1", folder)).rejects.toThrow("name another folder");
});
