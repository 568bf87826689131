import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";
import packageJson from "../../package.json" with { type: "json" };
import { fetchNode, type NodeFiles } from "./node-package.ts";
import { isWindows, type Platform } from "./platforms.ts";
import { tarOf, type Entry } from "./tar.ts";

const plugin = fileURLToPath(new URL("../../plugin", import.meta.url));
const EXECUTABLE = "pulumi-resource-apichat";

export interface ArchiveOptions {
  outFolder: string;
  signal: AbortSignal;
}

/**
 * Writes the archive of the plugin for a platform, and gives its path: the folder of the npm package and Node's own binary, unchanged,
 * because a signature of macOS or Windows holds for that only. The same bytes each time. Throws `NoSuchPackage`.
 */
export async function writeArchive(
  platform: Platform,
  { outFolder, signal }: ArchiveOptions,
): Promise<string> {
  const entries = await entriesFor(platform, await fetchNode(platform, signal));
  await mkdir(outFolder, { recursive: true });
  const path = join(outFolder, `${EXECUTABLE}-v${packageJson.version}-${platform}.tar.gz`);
  const partial = `${path}.partial`;
  try {
    await pipeline(tarOf(entries), createGzip(), createWriteStream(partial), { signal });
    await rename(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
  return path;
}

async function entriesFor(platform: Platform, { binary, licence }: NodeFiles): Promise<Entry[]> {
  const node = isWindows(platform) ? "node.exe" : "node";
  const licences = [join(plugin, "licenses.txt"), licence].map((file) => readFile(file, "utf8"));
  return [
    isWindows(platform)
      ? { name: `${EXECUTABLE}.cmd`, content: '@"%~dp0node.exe" "%~dp0launch.js" %*\r\n' }
      : {
          name: EXECUTABLE,
          content: '#!/bin/sh\nexec "${0%/*}/node" "${0%/*}/launch.js" "$@"\n',
          isExecutable: true,
        },
    { name: node, content: { file: binary }, isExecutable: true },
    { name: "launch.js", content: { file: join(plugin, EXECUTABLE) } },
    ...["main.js", "package.json"].map((name) => ({ name, content: { file: join(plugin, name) } })),
    { name: "licenses.txt", content: (await Promise.all(licences)).join("\nNode.js\n\n") },
  ];
}

/** Writes `SHA256SUMS` of the archives in a folder, as `sha256sum --check` reads it. */
export async function writeSums(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".tar.gz")).toSorted();
  const lines = await Promise.all(names.map(async (name) => `${await sumOf(join(folder, name))}  ${name}\n`));
  await writeFile(join(folder, "SHA256SUMS"), lines.join(""));
}

async function sumOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
