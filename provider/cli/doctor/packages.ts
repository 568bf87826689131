import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { readFileIfExists } from "../../lib/files.js";
import { MIN_PULUMI, majorOf } from "../../lib/version.js";
import { failed, type Finding, ok, type Project, warning } from "./check.js";
import { judgeVersion } from "./engine.js";

/**
 * Checks that the program's folder finds the package, because the provider process loads it from there. A workspace may have it in the
 * package.json at its top.
 */
export function checkDependency(project: Project): Finding {
  const version = findVersion(project.folder, "pulumi-apichat");
  if (version !== undefined) return ok(version);
  const text = `not installed in ${project.folder}, where the provider is loaded from`;
  return failed(text, addHint(project, "pulumi-apichat"));
}

export function checkLibrary(project: Project): Finding {
  const version = findVersion(project.folder, "@pulumi/pulumi");
  const hint = addHint(project, `@pulumi/pulumi@^${majorOf(MIN_PULUMI)}`);
  return version === undefined
    ? failed(`not installed in ${project.folder}`, hint)
    : judgeVersion(version, hint);
}

const EXECUTABLE = "pulumi-resource-apichat";

const named = z.union([z.string(), z.object({ source: z.string() }).transform(({ source }) => source)]);

/** Checks that the engine finds the resource plugin. */
export function checkPlugin({ root, path, plugin }: Project): Finding {
  const source = named.safeParse(plugin).data;
  if (source === undefined) {
    return warning(
      `not named in ${path}, so the engine uses an installed one, or the one of a resource's pluginDownloadURL`,
      "add packages: { apichat: ./node_modules/pulumi-apichat/plugin }",
    );
  }
  // Such as apichat@0.1.0, which the engine looks up itself.
  if (!/^[./~]|^[a-z]:/i.test(source)) return ok(source);
  const folder = resolve(root, source);
  if (!existsSync(join(folder, EXECUTABLE)) && !existsSync(join(folder, "PulumiPlugin.yaml"))) {
    return failed(`there is no ${EXECUTABLE} in ${folder}`, `run in ${root}: npm install`);
  }
  const manifest = readFileIfExists(join(folder, "../package.json")) ?? "{}";
  const { data } = installed.safeParse(JSON.parse(manifest));
  return ok(data === undefined ? folder : `${data.version} in ${folder}`);
}

const installed = z.object({ version: z.string() });

/** The version of a package as a program in this folder would load it. Returns undefined if it is not installed. */
export function findVersion(folder: string, name: string): string | undefined {
  const file = findPackageFile(folder, `${name}/package.json`);
  if (file === undefined) return undefined;
  return installed.safeParse(createRequire(import.meta.url)(file)).data?.version;
}

/** The path of a file of a package as a program in this folder would load it. Returns undefined if it is not there. */
export function findPackageFile(folder: string, name: string): string | undefined {
  try {
    return createRequire(join(folder, "package.json")).resolve(name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "MODULE_NOT_FOUND" || code === "ERR_PACKAGE_PATH_NOT_EXPORTED") return undefined;
    throw error;
  }
}

/** The commands that add a package, by the lock files that show the package manager. */
const MANAGERS = {
  "pnpm-lock.yaml": "pnpm add",
  "yarn.lock": "yarn add",
  "bun.lock": "bun add",
  "bun.lockb": "bun add",
  "package-lock.json": "npm install",
};

/** How to add a package with the program's own package manager. */
export const addHint = ({ folder }: Project, what: string): string =>
  `run in ${folder}: ${findManager(folder)} ${what}`;

function findManager(folder: string): string {
  const lock = Object.entries(MANAGERS).find(([file]) => existsSync(join(folder, file)));
  if (lock !== undefined) return lock[1];
  const above = dirname(folder);
  return above === folder ? "npm install" : findManager(above);
}
