import { randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { invalidConfig, makeFolders, readFileIfExists, removeStale, writePrivateFile } from "../lib/files.js";
import type { ResolvedFleet } from "./definition.js";
import type { YamlProgram } from "./yaml-program.js";

// The Pulumi project of a fleet. Its folder contains no program: each run writes one into a new subfolder.

const PROJECT_FILE = "Pulumi.yaml";

/** The plugin's folder in the npm package: see tools/compile/plugin.ts. */
const pluginFolder = (): string =>
  join(dirname(fileURLToPath(import.meta.resolve("pulumi-apichat/package.json"))), "plugin");

const projectOf = ({ project }: ResolvedFleet, plugin = pluginFolder()) => ({
  name: project,
  runtime: "yaml",
  packages: { apichat: plugin },
});

/** Writes what the engine needs for commands without a program, and removes the leftovers of killed runs. */
export async function prepareProject(fleet: ResolvedFleet): Promise<void> {
  const { folder } = fleet;
  makeFolders(folder);
  const files = { [PROJECT_FILE]: JSON.stringify(projectOf(fleet)), ".gitignore": "*" };
  // Written atomically, because the engine of another command may be reading them.
  await Promise.all(
    Object.entries(files).map(([name, text]) => writePrivateFile(join(folder, name), `${text}\n`)),
  );
  removeStale(folder, OF_A_RUN);
}

/** Calls `work` with a folder that contains the program and its secrets. The folder is removed afterwards. */
export async function withProgram<T>(
  fleet: ResolvedFleet,
  program: YamlProgram,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = join(fleet.folder, randomUUID());
  await mkdir(folder, { mode: 0o700 });
  try {
    // The configuration of a stack, with the salt of its passphrase, stays in the fleet's folder.
    await writeFiles(folder, { ...projectOf(fleet), stackConfigDir: ".." }, program);
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes a whole project for use with `pulumi`. Throws `invalid_config` if the folder contains another. */
export async function writeProject(
  fleet: ResolvedFleet,
  program: YamlProgram,
  target: string,
): Promise<void> {
  const folder = resolve(target);
  const previous = readFileIfExists(join(folder, PROJECT_FILE));
  if (previous !== undefined && !previous.startsWith(`{"name":${JSON.stringify(fleet.project)},`)) {
    throw invalidConfig([`folder: ${folder} has another project's ${PROJECT_FILE}; use a different folder`]);
  }
  makeFolders(folder);
  // Relative, so that the project also works in another clone of the repository.
  const plugin = `./${relative(folder, pluginFolder()).replaceAll("\\", "/")}`;
  await writeFiles(folder, projectOf(fleet, plugin), program);
}

async function writeFiles(folder: string, project: object, program: YamlProgram): Promise<void> {
  await writePrivateFile(join(folder, "Main.json"), JSON.stringify(program, undefined, 1));
  await writePrivateFile(join(folder, PROJECT_FILE), JSON.stringify(project));
}

/** Matches the folder of a run, or a `<file>.<uuid>` that a killed writer left behind. */
const OF_A_RUN = /(?:^|\.)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
