import { readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  isHeld,
  makeDataDir,
  readInstance,
  takeDataDir,
  writeInstance,
} from "../../../provider/server/data-dir.js";
import { DEAD, makeFolder } from "./harness.js";

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

it("creates a data folder and its parents, and lets only the owner access it", async () => {
  const dataDir = join(await makeFolder(), "state", "data");
  makeDataDir(dataDir);
  makeDataDir(dataDir);
  expect(await modeOf(dataDir)).toBe(0o700);
});

it("rejects a folder that cannot be created or written, with a hint", async () => {
  const folder = await makeFolder();
  const [file, link] = [join(folder, "file"), join(folder, "link")];
  await writeFile(file, "");
  await symlink(join(folder, "nowhere"), link);
  for (const dataDir of [file, join(file, "a", "b"), link, "/proc/nope", "/proc/nope/data"]) {
    const message = expect.stringMatching(
      /created, got .*(ENOENT|EEXIST|not a folder).*use a different/,
    ) as string;
    expect(() => makeDataDir(dataDir)).toThrow(expect.objectContaining({ code: "invalid_config", message }));
  }
  const text = expect.stringMatching(/got \/proc: E[A-Z]+: .*; change the owner/) as string;
  const problems = [{ field: "dataDir", text }];
  await expect(takeDataDir("/proc")).rejects.toMatchObject({ code: "invalid_config", problems });
});

it("announces an instance in a private file, atomically; the next process removes the file", async () => {
  const dataDir = await makeFolder();
  await writeInstance(dataDir, { ...DEAD, port: 1 });
  await writeInstance(dataDir, DEAD);
  expect(await readInstance(dataDir)).toEqual(DEAD);
  expect(await readdir(dataDir)).toEqual(["instance.json"]);
  expect(await modeOf(join(dataDir, "instance.json"))).toBe(0o600);
  expect(isHeld(dataDir)).toBe(false);
  const lock = await takeDataDir(dataDir);
  expect([isHeld(dataDir), await readInstance(dataDir)]).toEqual([true, undefined]);
  lock.release();
  expect(isHeld(dataDir)).toBe(false);
});
