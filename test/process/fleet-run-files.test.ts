import { readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { openFleet } from "../../dist/provider/fleet/fleet.js";
import { resolveFleet, type FleetDefinition } from "../../dist/provider/fleet/definition.js";
import { prepareProject, withProgram } from "../../dist/provider/fleet/project.js";
import { outputsProgram } from "../../dist/provider/fleet/yaml-program.js";
import { processesNaming } from "../../tools/lib/processes.ts";
import { makeFolder } from "./program.ts";

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

test("the folder of a killed run is kept for a day; a completed run leaves no folder", async () => {
  const fleet = await resolveFleet(definitionIn(await makeFolder()));
  await prepareProject(fleet);
  await withProgram(fleet, outputsProgram({}), async (ofRun) => {
    const age = (hours: number): Promise<void> => utimes(ofRun, 0, Date.now() / 1000 - hours * 3600);
    await age(23);
    await prepareProject(fleet);
    expect(await readdir(ofRun)).toEqual(["Main.json", "Pulumi.yaml"]);
    await age(25);
    await prepareProject(fleet);
    await expect(readdir(ofRun)).rejects.toThrow("ENOENT");
  });
  await withProgram(fleet, outputsProgram({}), () => Promise.resolve());
  expect(await readdir(fleet.folder)).toEqual([".gitignore", "Pulumi.yaml"]);
});

test("write creates a stack's project that only its owner can read, and never overwrites other projects", async () => {
  const folder = await makeFolder();
  const fleet = await openFleet(definitionIn(join(folder, ".fleet")));
  const target = join(folder, "stack");
  // The second call replaces the files of the first.
  for (const _ of [1, 2]) await fleet.write("test-0-of-1", target);
  for (const file of ["Main.json", "Pulumi.yaml"]) {
    expect((await stat(join(target, file))).mode & 0o777).toBe(0o600);
  }
  expect(JSON.parse(await readFile(join(target, "Pulumi.yaml"), "utf8"))).toMatchObject({
    name: "apichat-fleet",
    runtime: "yaml",
    packages: { apichat: expect.stringMatching(/^\.\/.*plugin$/) as string },
  });
  await expect(fleet.write("test-1-of-1", target)).rejects.toThrow("use one of test-0-of-1");
  await writeFile(join(folder, "Pulumi.yaml"), "name: another\n");
  await expect(fleet.write("test-0-of-1", folder)).rejects.toThrow("use a different folder");
});

test("an engine (here a stand-in) ends when the process that started it ends", async () => {
  const folder = await makeFolder();
  const script = `#!/bin/sh\ntrap '' INT HUP\necho '{"sequence":1}'\nexec sleep 60\n`;
  await writeFile(join(folder, "pulumi"), script, { mode: 0o755 });
  const entry = new URL("../../dist/provider/fleet/pulumi.js", import.meta.url).href;
  const program = `
    const { callPulumi } = await import("${entry}");
    await callPulumi({ args: [], folder: ".", environment: {}, onEvent: () => process.exit(130) });
  `;
  const { exitCode } = await execa(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    env: { PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}` },
    reject: false,
  });
  expect(exitCode).toBe(130);
  await expect.poll(() => processesNaming(folder)).toEqual([]);
});
