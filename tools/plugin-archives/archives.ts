import { hash } from "node:crypto";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  mkdtempDisposable,
  readdir,
  readFile,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "tar";
import packageJson from "../../package.json" with { type: "json" };
import { run } from "../lib/run.ts";
import { PLATFORMS, type NodePackage, type Platform } from "./platforms.ts";

const plugin = fileURLToPath(new URL("../../plugin", import.meta.url));
const EXECUTABLE = "pulumi-resource-apichat";

export interface Archive {
  path: string;
  /** In hex. */
  sha256: string;
}

/**
 * Writes the archive of the plugin for a platform: the folder of the npm package and Node's own binary, unchanged, because a signature of
 * macOS or Windows is valid for that only. Throws if npm has a different Node from the pinned one.
 */
export async function writeArchive(
  platform: Platform,
  { outFolder, signal }: { outFolder: string; signal: AbortSignal },
): Promise<Archive> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plugin-archive-"));
  const content = join(scratch.path, "content");
  await mkdir(content);
  await Promise.all([addPlugin(content), addNode(content, platform, { scratch: scratch.path, signal })]);
  await addLauncher(content, platform);
  await mkdir(outFolder, { recursive: true });
  const path = join(outFolder, `${EXECUTABLE}-v${packageJson.version}-${platform}.tar.gz`);
  await packFolder(content, path);
  return { path, sha256: hash("sha256", await readFile(path)) };
}

/** Writes a .tar.gz of what is in a folder: the same bytes for the same files, whenever and wherever. */
export async function packFolder(folder: string, archive: string): Promise<void> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
  const options = { cwd: folder, gzip: true, portable: true, mtime: new Date(0), file: archive };
  await create(options, names.toSorted());
}

async function addPlugin(content: string): Promise<void> {
  await copyFile(join(plugin, EXECUTABLE), join(content, "launch.js"));
  for (const name of ["main.js", "package.json", "sbom.cdx.json"])
    await copyFile(join(plugin, name), join(content, name));
}

interface UnpackOptions {
  scratch: string;
  signal: AbortSignal;
}

/** Node, and the licences of the plugin and of Node. */
async function addNode(content: string, platform: Platform, options: UnpackOptions): Promise<void> {
  const folder = await unpackNode(PLATFORMS[platform], options);
  const binary = isWindows(platform) ? "node.exe" : "node";
  await copyFile(join(folder, "bin", binary), join(content, binary));
  await chmod(join(content, binary), 0o755);
  // The packages for Windows have no licence file. It is the same for all.
  const licensed = isWindows(platform) ? await unpackNode(PLATFORMS["linux-amd64"], options) : folder;
  const licences = [join(plugin, "licenses.txt"), join(licensed, "LICENSE")];
  const texts = await Promise.all(licences.map((file) => readFile(file, "utf8")));
  await writeFile(join(content, "licenses.txt"), texts.join("\nNode.js\n\n"));
}

/** What the engine starts. */
async function addLauncher(content: string, platform: Platform): Promise<void> {
  const script = isWindows(platform)
    ? '@"%~dp0node.exe" "%~dp0launch.js" %*\r\n'
    : '#!/bin/sh\nexec "${0%/*}/node" "${0%/*}/launch.js" "$@"\n';
  const name = isWindows(platform) ? `${EXECUTABLE}.cmd` : EXECUTABLE;
  await writeFile(join(content, name), script, { mode: 0o755 });
}

const isWindows = (platform: Platform): boolean => platform.startsWith("windows-");

/** Unpacks a package from npm's cache, or else the registry, into a new folder, and returns that. */
async function unpackNode({ name, version, integrity }: NodePackage, { scratch, signal }: UnpackOptions) {
  const cwd = await mkdtemp(join(scratch, "node-"));
  const what = `${name}@${version}`;
  await run("npm", ["pack", "--prefer-offline", "--loglevel=error", what], { cwd, signal });
  const [archive = ""] = await readdir(cwd);
  const found = `sha512-${hash("sha512", await readFile(join(cwd, archive)), "base64")}`;
  if (found !== integrity)
    throw new Error(
      `the npm registry's ${what} has the integrity ${found}, and tools/plugin-archives/platforms.ts pins ${integrity}. ` +
        `If you have changed the version, compare it with what another machine prints for: npm view ${what} dist.integrity`,
    );
  await run("tar", ["-xzf", archive], { cwd, signal });
  return join(cwd, "package");
}

/** Writes `SHA256SUMS` of these archives, and of nothing else in the folder, as `sha256sum --check` reads it. */
export async function writeSums(folder: string, archives: readonly Archive[]): Promise<void> {
  const lines = archives.map(({ path, sha256 }) => `${sha256}  ${basename(path)}\n`);
  await writeFile(join(folder, "SHA256SUMS"), lines.join(""));
}
