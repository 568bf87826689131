import { hash } from "node:crypto";
import {
  appendFile,
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  mkdtempDisposable,
  readdir,
  readFile,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { create } from "tar";
import { BILL, billOf, componentOf, componentsIn, LICENCES } from "../compile/bundled.ts";
import { PROGRAM_LANGUAGES, LANGUAGES_WITHOUT_NPM } from "../../dist/provider/cli/init/program.js";
import { bundleCommandLine, THREAD } from "../compile/plugin.ts";
import { clone } from "../lib/clone.ts";
import { run } from "../lib/run.ts";
import { PLATFORMS, type NodePackage, type Platform } from "./platforms.ts";

const EXECUTABLE = "pulumi-resource-apichat";

/**
 * The archive's programs: the plugin and the command line. `folder` is a shell expression for the program's
 * folder; the command line's follows links, because a link may start it.
 */
const PROGRAMS = [
  { name: EXECUTABLE, script: "launch.js", folder: "${0%/*}" },
  { name: "apichat", script: "cli/apichat.js", folder: '$(dirname "$(readlink -f "$0")")' },
];

interface ArchiveOptions {
  outFolder: string;
  signal: AbortSignal;
  /** The checkout whose `plugin/` is packed. Default: this one. */
  source?: string;
}

/**
 * Writes the archive of the plugin for a platform: the npm package's `plugin/`, the command line, and Node's
 * unchanged binary (a change would invalidate its signature on macOS and Windows). Returns the archive's path.
 * Throws if npm's package of Node differs from the pinned one.
 */
export async function writeArchive(
  platform: Platform,
  { outFolder, signal, source = clone }: ArchiveOptions,
): Promise<string> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plugin-archive-"));
  const content = join(scratch.path, "content");
  const [plugin, version] = [join(source, "plugin"), await versionOf(source)];
  await mkdir(content);
  await addPlugin(content, plugin);
  await addCommandLine(content, source);
  await addNode(content, platform, scratch.path, signal);
  await addBill(content, version, platform);
  await addLaunchers(content, platform);
  await mkdir(outFolder, { recursive: true });
  const path = join(outFolder, `${EXECUTABLE}-v${version}-${platform}.tar.gz`);
  await packFolder(content, path);
  return path;
}

/** Returns the version of the package in a checkout. */
export async function versionOf(source: string): Promise<string> {
  return (JSON.parse(await readFile(join(source, "package.json"), "utf8")) as { version: string }).version;
}

/** Writes a reproducible .tar.gz of a folder. */
export async function packFolder(folder: string, archive: string): Promise<void> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
  const options = { cwd: folder, gzip: true, portable: true, mtime: new Date(0), file: archive };
  await create(options, names.toSorted());
}

async function addPlugin(content: string, plugin: string): Promise<void> {
  await copyFile(join(plugin, EXECUTABLE), join(content, "launch.js"));
  for (const name of ["main.js", `${THREAD}.js`, "package.json", LICENCES, BILL])
    await copyFile(join(plugin, name), join(content, name));
}

/** Adds the command line, the emulator's page, the programs that `init` writes, and the schemas for users to read. */
async function addCommandLine(content: string, source: string): Promise<void> {
  await bundleCommandLine(source, join(content, "cli"));
  await cp(join(source, "dist/provider/emulator/page"), join(content, "page"), { recursive: true });
  const examples = LANGUAGES_WITHOUT_NPM.flatMap((language) =>
    ["quickstart", "webhook-only"].flatMap((example) =>
      ["Pulumi.yaml", ...PROGRAM_LANGUAGES[language]].map((file) =>
        join("examples", language, example, file),
      ),
    ),
  );
  const schemas = (await readdir(join(source, "schema")))
    .filter((name) => /\.schema\.json$|^(?:openapi|vectors)\.json$/.test(name))
    .map((name) => join("schema", name));
  for (const path of [...examples, ...schemas]) await cp(join(source, path), join(content, path));
}

/** Adds Node, and appends its licence to the plugin's. */
async function addNode(
  content: string,
  platform: Platform,
  scratch: string,
  signal: AbortSignal,
): Promise<void> {
  const unpack = (one: Platform): Promise<string> => unpackNode(PLATFORMS[one], scratch, signal);
  const folder = await unpack(platform);
  const binary = isWindows(platform) ? "node.exe" : "node";
  await copyFile(join(folder, "bin", binary), join(content, binary));
  await chmod(join(content, binary), 0o755);
  // The packages for Windows have no licence file; the licence is the same for all platforms.
  const licensed = isWindows(platform) ? await unpack("linux-amd64") : folder;
  const licence = await readFile(join(licensed, "LICENSE"), "utf8");
  await appendFile(join(content, LICENCES), `\nNode.js\n\n${licence}`);
}

/** Writes the archive's bill of materials. */
async function addBill(content: string, version: string, platform: Platform): Promise<void> {
  const bills = ["", "cli", "page"].map((folder) => readFile(join(content, folder, BILL), "utf8"));
  const packages = (await Promise.all(bills)).flatMap(componentsIn);
  packages.push(componentOf({ ...PLATFORMS[platform], license: "MIT" }));
  await writeFile(join(content, BILL), billOf(EXECUTABLE, version, packages));
}

async function addLaunchers(content: string, platform: Platform): Promise<void> {
  for (const { name, script, folder } of PROGRAMS) {
    const [file, launcher] = isWindows(platform)
      ? [`${name}.cmd`, `@"%~dp0node.exe" "%~dp0${script}" %*\r\n`]
      : [name, `#!/bin/sh\nfolder=${folder}\nexec "$folder/node" "$folder/${script}" "$@"\n`];
    await writeFile(join(content, file), launcher, { mode: 0o755 });
  }
}

const isWindows = (platform: Platform): boolean => platform.startsWith("windows-");

/** Unpacks a package, from npm's cache or else from the registry, into a new folder. Returns the folder. */
async function unpackNode({ name, version, integrity }: NodePackage, scratch: string, signal: AbortSignal) {
  const cwd = await mkdtemp(join(scratch, "node-"));
  const what = `${name}@${version}`;
  await run("npm", ["pack", "--prefer-offline", "--loglevel=error", what], { cwd, signal });
  const [archive = ""] = await readdir(cwd);
  const found = `sha512-${hash("sha512", await readFile(join(cwd, archive)), "base64")}`;
  if (found !== integrity)
    throw new Error(
      `npm's ${what} has the integrity ${found}, but tools/release/platforms.ts pins ${integrity}. ` +
        "If you have changed the version, compare that integrity with what another machine prints for: " +
        `npm view ${what} dist.integrity`,
    );
  await run("tar", ["-xzf", archive], { cwd, signal });
  return join(cwd, "package");
}
