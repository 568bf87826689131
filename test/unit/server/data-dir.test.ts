import { readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeDataDir } from "../../../provider/lib/files.js";
import { readInstance, takeDataDir, writeInstance } from "../../../provider/server/data-dir.js";
import { makeFolder } from "./harness.js";

const INSTANCE = {
  instance: "3f0c",
  pid: 4711,
  host: "127.0.0.1",
  port: 8080,
  controlPort: 8081,
  token: "secret",
  startedAt: "2026-11-21T08:00:00.000Z",
};
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

it("makes a data folder for its owner only, with those above it", async () => {
  const dataDir = join(await makeFolder(), "state", "data");
  makeDataDir(dataDir);
  makeDataDir(dataDir);
  expect(await modeOf(dataDir)).toBe(0o700);
});

it("fails with how to fix it for a folder that cannot be made", async () => {
  const folder = await makeFolder();
  const file = join(folder, "file");
  await writeFile(file, "");
  await symlink(join(folder, "nowhere"), join(folder, "link"));
  for (const [dataDir, reason] of [
    [file, `${file} is a file; give another folder`],
    [join(file, "a", "b"), `${file} is a file; give another folder`],
    [join(folder, "link"), "link is a link to nowhere; remove it"],
    ["/proc/nope", "the file system there makes no folder /proc/nope (ENOENT)"],
    ["/proc/nope/data", "the file system there makes no folder /proc/nope (ENOENT)"],
  ] as const) {
    const failure = expect.objectContaining({
      code: "invalid_config",
      message: expect.stringContaining(`got ${dataDir}: `) as string,
    });
    expect(() => makeDataDir(dataDir)).toThrow(failure);
    expect(() => makeDataDir(dataDir)).toThrow(reason);
  }
  await expect(takeDataDir("/proc")).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringMatching(/^dataDir: must be a folder in which .*got \/proc \(E[A-Z]+\)/) as string,
  });
});

it("announces an instance in one step and for its owner only, and takes it away", async () => {
  const dataDir = await makeFolder();
  await writeInstance(dataDir, { ...INSTANCE, port: 1 });
  await writeInstance(dataDir, INSTANCE);
  expect(await readInstance(dataDir)).toEqual(INSTANCE);
  expect(await readdir(dataDir)).toEqual(["instance.json"]);
  expect(await modeOf(join(dataDir, "instance.json"))).toBe(0o600);
  const taken = await takeDataDir(dataDir);
  expect(await readInstance(dataDir)).toBeUndefined();
  await writeInstance(dataDir, INSTANCE);
  await taken.release();
  expect(await readInstance(dataDir)).toBeUndefined();
});

it.each(["", "{", "null", "[]", '{"instance":"a"}', JSON.stringify({ ...INSTANCE, pid: "4711" }), undefined])(
  "takes %j for no announcement",
  async (text) => {
    const dataDir = join(await makeFolder(), text === undefined ? "nowhere" : "");
    if (text !== undefined) await writeFile(join(dataDir, "instance.json"), text);
    expect(await readInstance(dataDir)).toBeUndefined();
  },
);

it("lets one hold a data folder, and the next when it lets go", async () => {
  const dataDir = await makeFolder();
  const taken = await takeDataDir(dataDir);
  await writeInstance(dataDir, INSTANCE);
  // The first failed attempt must not have dropped the lock of the one that holds it.
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(takeDataDir(dataDir)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining(`${dataDir} is in use by the responder of process 4711`) as string,
    });
  }
  await taken.release();
  const next = await takeDataDir(dataDir);
  await next.release();
  expect(await modeOf(join(dataDir, "lock.sqlite"))).toBe(0o600);
});
