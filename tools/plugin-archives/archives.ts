import { createHash } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";
import packageJson from "../../package.json" with { type: "json" };
import { unpackNode } from "./node-package.ts";
import { isWindows, PLATFORMS, type Platform } from "./platforms.ts";
import { tarOf, type Entry } from "./tar.ts";

const plugin = fileURLToPath(new URL("../../plugin", import.meta.url));
const EXECUTABLE = "pulumi-resource-apichat";

export interface ArchiveOptions {
  outFolder: string;
  signal: AbortSignal;
}

export interface Archive {
  path: string;
  /** Of what was written, in hex. */
  sha256: string;
}

/**
 * Writes the archive of the plugin for a platform: the folder of the npm package and Node's own binary, unchanged, because a signature of
 * macOS or Windows holds for that only. The same bytes each time. Throws `NoSuchPackage`.
 */
export async function writeArchive(
  platform: Platform,
  { outFolder, signal }: ArchiveOptions,
): Promise<Archive> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plugin-archive-"));
  const entries = await entriesFor(platform, scratch.path, signal);
  await mkdir(outFolder, { recursive: true });
  const path = join(outFolder, `${EXECUTABLE}-v${packageJson.version}-${platform}.tar.gz`);
  const partial = `${path}.partial`;
  const hash = createHash("sha256");
  const gzip = createGzip().on("data", (chunk: Buffer) => hash.update(chunk));
  try {
    await pipeline(tarOf(entries), gzip, createWriteStream(partial), { signal });
    await rename(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
  return { path, sha256: hash.digest("hex") };
}

async function entriesFor(platform: Platform, scratch: string, signal: AbortSignal): Promise<Entry[]> {
  const nodeFolder = await unpackNode(PLATFORMS[platform], scratch, { signal });
  const binary = join(nodeFolder, "bin", isWindows(platform) ? "node.exe" : "node");
  // The packages for Windows have no licence file. It is the same for all.
  const withLicence = existsSync(join(nodeFolder, "LICENSE"))
    ? nodeFolder
    : await unpackNode(PLATFORMS["linux-amd64"], scratch, { signal });
  const licence = join(withLicence, "LICENSE");
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

/** Writes `SHA256SUMS` of these archives, and of nothing else in the folder, as `sha256sum --check` reads it. */
export async function writeSums(folder: string, archives: readonly Archive[]): Promise<void> {
  const lines = archives.map(({ path, sha256 }) => `${sha256}  ${basename(path)}\n`);
  await writeFile(join(folder, "SHA256SUMS"), lines.join(""));
}
