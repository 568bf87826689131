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
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "tar";
import { billOf, componentOf, componentsIn } from "../compile/bundled.ts";
import { run } from "../lib/run.ts";
import { PLATFORMS, type NodePackage, type Platform } from "./platforms.ts";

const clone = fileURLToPath(new URL("../..", import.meta.url));
const [EXECUTABLE, BILL] = ["pulumi-resource-apichat", "sbom.cdx.json"] as const;

interface ArchiveOptions {
  outFolder: string;
  signal: AbortSignal;
  /** The checkout whose `plugin/` is packed. Default: this one. */
  source?: string;
}

/**
 * Writes the archive of the plugin for a platform: the folder of the npm package and Node's own binary, unchanged, because a signature of
 * macOS or Windows is valid for that only. Returns its path. Throws if npm has a different Node from the pinned one.
 */
export async function writeArchive(
  platform: Platform,
  { outFolder, signal, source = clone }: ArchiveOptions,
): Promise<string> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plugin-archive-"));
  const content = join(scratch.path, "content");
  const [plugin, version] = [join(source, "plugin"), await versionOf(source)];
  await mkdir(content);
  const components = componentsIn(await readFile(join(plugin, BILL), "utf8"));
  components.push(componentOf({ ...PLATFORMS[platform], license: "MIT" }));
  await writeFile(join(content, BILL), billOf(EXECUTABLE, version, components));
  const adding = { plugin, scratch: scratch.path, signal };
  await Promise.all([addPlugin(content, plugin), addNode(content, platform, adding)]);
  await addLauncher(content, platform);
  await mkdir(outFolder, { recursive: true });
  const path = join(outFolder, `${EXECUTABLE}-v${version}-${platform}.tar.gz`);
  await packFolder(content, path);
  return path;
}

/** The version of the package in a checkout. */
export async function versionOf(source: string): Promise<string> {
  return (JSON.parse(await readFile(join(source, "package.json"), "utf8")) as { version: string }).version;
}

/** Writes a .tar.gz of what is in a folder: the same bytes for the same files, whenever and wherever. */
export async function packFolder(folder: string, archive: string): Promise<void> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
  const options = { cwd: folder, gzip: true, portable: true, mtime: new Date(0), file: archive };
  await create(options, names.toSorted());
}

async function addPlugin(content: string, plugin: string): Promise<void> {
  await copyFile(join(plugin, EXECUTABLE), join(content, "launch.js"));
  for (const name of ["main.js", "package.json"]) await copyFile(join(plugin, name), join(content, name));
}

interface UnpackOptions {
  scratch: string;
  signal: AbortSignal;
}

/** Node, and the licences of the plugin and of Node. */
async function addNode(
  content: string,
  platform: Platform,
  { plugin, ...options }: UnpackOptions & { plugin: string },
): Promise<void> {
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
