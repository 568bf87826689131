import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { execa } from "execa";
import { expect, test } from "vitest";
import { tarOf, type Entry } from "../../../tools/plugin-archives/tar.ts";
import { afterTests } from "../../support/http.ts";

test("an archive has names, contents and modes, and the same bytes in whatever order they are given", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-tar-"));
  afterTests(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "source");
  const long = "0123456789".repeat(1000);
  await writeFile(file, long);
  const entries: Entry[] = [
    { name: "run", content: "#!/bin/sh\necho é\n", isExecutable: true },
    { name: "empty", content: "" },
    { name: "block", content: "x".repeat(512) },
    { name: "long", content: { file } },
  ];
  const bytes = await buffer(tarOf(entries));
  expect(await buffer(tarOf(entries.toReversed()))).toEqual(bytes);

  await writeFile(join(folder, "archive.tar"), bytes);
  const listed = await execa("tar", ["-tf", "archive.tar"], { cwd: folder });
  expect(listed.stdout.split("\n")).toEqual(["block", "empty", "long", "run"]);
  await execa("tar", ["-xf", "archive.tar"], { cwd: folder });
  expect((await execa(join(folder, "run"))).stdout).toBe("é");
  expect(await readFile(join(folder, "long"), "utf8")).toBe(long);
  expect(await readFile(join(folder, "block"), "utf8")).toBe("x".repeat(512));
  await expect(execa(join(folder, "long"))).rejects.toMatchObject({ code: "EACCES" });
});
