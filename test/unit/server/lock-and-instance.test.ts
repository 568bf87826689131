import { readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  makeDataDir,
  readInstance,
  removeInstance,
  writeInstance,
} from "../../../provider/server/instance.js";
import { lockDataDir } from "../../../provider/server/lock.js";
import { makeFolder } from "./folders.js";

const INSTANCE = {
  instance: "3f0c",
  pid: 4711,
  host: "127.0.0.1",
  port: 8080,
  controlPort: 8081,
  token: "secret",
  startedAt: "2026-11-21T08:00:00.000Z",
};

it("makes a data folder for its owner only, with those above it", async () => {
  const dataDir = join(await makeFolder(), "state", "data");
  await makeDataDir(dataDir);
  await makeDataDir(dataDir);
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
});

it("ends with how to fix it where the file system makes no folders", async () => {
  for (const dataDir of ["/proc/nope", "/proc/nope/data"]) {
    await expect(makeDataDir(dataDir)).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(
        new RegExp(`^dataDir: .*got ${dataDir}: .*/proc/nope .*give another folder`),
      ) as string,
    });
  }
});

const messageOf = (dataDir: string) => makeDataDir(dataDir).catch(({ message }: Error) => message);

it("says so of a data folder that is a file, lies below one, or is a link to nowhere", async () => {
  const folder = await makeFolder();
  const file = join(folder, "file");
  await writeFile(file, "");
  await symlink(join(folder, "nowhere"), join(folder, "link"));
  const told = `${file} is a file; give another folder, such as "/var/lib/apichat"`;
  const start = "dataDir: must be a folder that can be made, got";
  expect(await messageOf(file)).toBe(`${start} ${file}: ${told}`);
  expect(await messageOf(join(file, "a", "b"))).toBe(`${start} ${join(file, "a", "b")}: ${told}`);
  expect(await messageOf(join(folder, "link"))).toContain("link is a link to nowhere; remove it");
});

it("announces an instance in one step and for its owner only, and takes it away", async () => {
  const dataDir = await makeFolder();
  await writeInstance(dataDir, { ...INSTANCE, port: 1 });
  await writeInstance(dataDir, INSTANCE);
  expect(await readInstance(dataDir)).toEqual(INSTANCE);
  expect(await readdir(dataDir)).toEqual(["instance.json"]);
  expect((await stat(join(dataDir, "instance.json"))).mode & 0o777).toBe(0o600);
  await removeInstance(dataDir);
  await removeInstance(dataDir);
  expect(await readInstance(dataDir)).toBeUndefined();
});

it.each(["", "{", "null", "[]", '{"instance":"a"}', JSON.stringify({ ...INSTANCE, pid: "4711" })])(
  "takes %j for no announcement",
  async (text) => {
    const dataDir = await makeFolder();
    await writeFile(join(dataDir, "instance.json"), text);
    expect(await readInstance(dataDir)).toBeUndefined();
  },
);

it("finds no announcement where there is no folder", async () => {
  expect(await readInstance("/nowhere/at/all")).toBeUndefined();
});

it("ends with how to fix it in a folder that takes no files", async () => {
  await expect(lockDataDir("/proc")).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringMatching(/^dataDir: must be a folder in which .*got \/proc \(E[A-Z]+\)/) as string,
  });
});

it("lets one hold a data folder, and the next when it lets go", async () => {
  const dataDir = await makeFolder();
  await writeInstance(dataDir, INSTANCE);
  const lock = await lockDataDir(dataDir);
  await expect(lockDataDir(dataDir)).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining(`${dataDir} is in use by the responder of process 4711`) as string,
  });
  // The failed attempt must not have dropped the first one's lock.
  await expect(lockDataDir(dataDir)).rejects.toMatchObject({ code: "conflict" });
  lock.release();
  const next = await lockDataDir(dataDir);
  next.release();
  expect((await stat(join(dataDir, "lock.sqlite"))).mode & 0o777).toBe(0o600);
});
