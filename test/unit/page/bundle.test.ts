import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { bundlePage } from "../../../tools/compile/page.ts";
import { makeFolder } from "../../support/folder.ts";

const MAX_BYTES = 40 * 1024;

const folder = await makeFolder();
await bundlePage(folder);

const read = (name: string): Promise<string> => readFile(join(folder, name), "utf8");

it("the page has at most 40 KiB of script and style, gzipped", async () => {
  const sizes = ["app.js", "app.css"].map(
    async (name) => gzipSync(await read(name), { level: 9 }).byteLength,
  );
  const [script = 0, style = 0] = await Promise.all(sizes);
  expect(script + style).toBeLessThanOrEqual(MAX_BYTES);
});

it("the page contains the licences of its packages", async () => {
  const licences = await read("licenses.txt");
  for (const name of ["preact", "@preact/signals", "@preact/signals-core", "@knadh/oat"]) {
    expect(licences).toContain(`${name}\n`);
  }
  expect(licences.match(/Permission is hereby granted/g)).toHaveLength(4);
});
