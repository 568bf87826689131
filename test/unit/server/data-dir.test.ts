import { readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeDataDir } from "../../../provider/lib/files.js";
import { readInstance, takeDataDir, writeInstance } from "../../../provider/server/data-dir.js";
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
  makeDataDir(dataDir);
  makeDataDir(dataDir);
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
});

it("ends with how to fix it where the file system makes no folders", () => {
  for (const dataDir of ["/proc/nope", "/proc/nope/data"]) {
    expect(failureOf(dataDir)).toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(
        new RegExp(`^dataDir: .*got ${dataDir}: .*/proc/nope .*give another folder`),
      ) as string,
    });
  }
});

function failureOf(dataDir: string): unknown {
  try {
    makeDataDir(dataDir);
    return undefined;
  } catch (error) {
    return error;
  }
}

it("fails for a data folder that is a file, lies below one, or is a link to nowhere", async () => {
  const folder = await makeFolder();
  const file = join(folder, "file");
  await writeFile(file, "");
  await symlink(join(folder, "nowhere"), join(folder, "link"));
  for (const [dataDir, reason] of [
    [file, `${file} is a file`],
    [join(file, "a", "b"), `${file} is a file`],
    [join(folder, "link"), "link is a link to nowhere; remove it"],
  ] as const) {
    const message = expect.stringContaining(reason) as string;
    expect(failureOf(dataDir)).toMatchObject({ code: "invalid_config", message });
  }
});

it("announces an instance in one step and for its owner only, and takes it away", async () => {
  const dataDir = await makeFolder();
  await writeInstance(dataDir, { ...INSTANCE, port: 1 });
  await writeInstance(dataDir, INSTANCE);
  expect(await readInstance(dataDir)).toEqual(INSTANCE);
  expect(await readdir(dataDir)).toEqual(["instance.json"]);
  expect((await stat(join(dataDir, "instance.json"))).mode & 0o777).toBe(0o600);
  const taken = await takeDataDir(dataDir);
  expect(await readInstance(dataDir)).toBeUndefined();
  await writeInstance(dataDir, INSTANCE);
  await taken.release();
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
  await expect(takeDataDir("/proc")).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringMatching(/^dataDir: must be a folder in which .*got \/proc \(E[A-Z]+\)/) as string,
  });
});

it("lets one hold a data folder, and the next when it lets go", async () => {
  const dataDir = await makeFolder();
  const taken = await takeDataDir(dataDir);
  await writeInstance(dataDir, INSTANCE);
  await expect(takeDataDir(dataDir)).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining(`${dataDir} is in use by the responder of process 4711`) as string,
  });
  // The failed attempt must not have dropped the first one's lock.
  await expect(takeDataDir(dataDir)).rejects.toMatchObject({ code: "conflict" });
  await taken.release();
  const next = await takeDataDir(dataDir);
  await next.release();
  expect((await stat(join(dataDir, "lock.sqlite"))).mode & 0o777).toBe(0o600);
});
