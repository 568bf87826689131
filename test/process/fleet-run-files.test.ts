import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { resolveFleet } from "../../dist/provider/fleet/definition.js";
import { Project } from "../../dist/provider/fleet/project.js";
import { makeFolder } from "./program.ts";

const MINUTE_MS = 60_000;

const PROGRAM = `export default ({ workspaces }) =>
  Object.fromEntries(workspaces.map(({ name, ...args }) => [name, { ...args, webhookVerificationKey: "0123456789abcdefghij" }]));
`;

test("another command leaves the folder of a plugin run alone that is older than an hour", async () => {
  const folder = await makeFolder();
  const program = join(folder, "program.mjs");
  await writeFile(program, PROGRAM);
  const acme = {
    name: "acme",
    baseUrl: "https://platform.example/acme/apichat",
    webhookUrl: "https://chat.example",
  };
  const fleet = await resolveFleet({ name: "test", program, workspaces: [acme], provider: "plugin" });
  const project = new Project(fleet);
  await project.prepare();
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());

  const stack = { name: "test-1-of-1", index: 0, workspaces: [...fleet.workspaces], rotations: [] };
  const file = { program: fleet.program, stack, refuseRandomKeys: false };
  const end = await project.withProgram(file, { environment: {} }, async ({ folder: ofRun }) => {
    const before = await readdir(ofRun);
    for (let minute = 0; minute < 90; minute++) {
      vi.advanceTimersByTime(MINUTE_MS);
      await vi.waitFor(async () => expect(Date.now() - (await stat(ofRun)).mtimeMs).toBeLessThan(MINUTE_MS));
    }
    await new Project(fleet).prepare();
    expect(before).toEqual(expect.arrayContaining(["Main.json", "Pulumi.yaml"]));
    expect(await readdir(ofRun)).toEqual(before);
    return { code: 0, output: "", errors: "" };
  });
  expect(end).toMatchObject({ code: 0 });
  // A run that has ended leaves nothing.
  expect(await readdir(fleet.folder)).toEqual([".gitignore", "Pulumi.yaml"]);
});
