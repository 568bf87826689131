import fs, { readdir, readFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { warningOfMode, writePrivateFile } from "../../../provider/lib/files.js";
import { makeFolder } from "../../support/folder.ts";

const folder = await makeFolder();

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** Makes renames fail as they do on Windows while another process has the file open. */
function rejectRenames(times: number): void {
  const rename = vi.spyOn(fs, "rename");
  for (let i = 0; i < times; i++)
    rename.mockRejectedValueOnce(Object.assign(new Error("in use"), { code: "EPERM" }));
  syncBuiltinESMExports();
}

test("on Windows, a write waits until an open file can be replaced", async () => {
  vi.spyOn(process, "platform", "get").mockReturnValue("win32");
  rejectRenames(2);
  await writePrivateFile(join(folder, "a"), "new");
  expect(await readFile(join(folder, "a"), "utf8")).toBe("new");
});

test("on other systems, a failed rename is an immediate error and leaves no file", async () => {
  rejectRenames(1);
  await expect(writePrivateFile(join(folder, "b"), "new")).rejects.toMatchObject({ code: "EPERM" });
  expect((await readdir(folder)).filter((name) => name.startsWith("b"))).toEqual([]);
});

test("a missing file causes no warning", () => expect(warningOfMode("missing", "keys")).toBeUndefined());
