import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as z from "zod";
import { isOlder, MIN_PULUMI, majorOf } from "../../lib/version.js";
import { failed, ok, warning } from "./check.js";
import { isNode, isOnDynamic, type Project, programCheck } from "./project.js";

/**
 * The provider process loads the package from the program's folder. What counts is whether it is found there: a workspace may have it
 * in the package.json at its top.
 */
export const dependencyCheck = programCheck("pulumi-apichat", isOnDynamic, (project) => {
  const version = findVersion(project.folder, "pulumi-apichat");
  return version === undefined
    ? failed(
        `not installed in ${project.folder}, where the provider is loaded from`,
        addHint(project, "pulumi-apichat"),
      )
    : ok(version);
});

export const libraryCheck = programCheck("@pulumi/pulumi", isNode, (project) => {
  const version = findVersion(project.folder, "@pulumi/pulumi");
  const hint = addHint(project, `@pulumi/pulumi@^${majorOf(MIN_PULUMI)}`);
  if (version === undefined) return failed(`not installed in ${project.folder}`, hint);
  if (isOlder(version, MIN_PULUMI)) {
    return failed(`${version} is too old; ${MIN_PULUMI} or newer is needed`, hint);
  }
  return majorOf(version) > majorOf(MIN_PULUMI)
    ? warning(`${version} is newer than what this was made for`, hint)
    : ok(version);
});

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

/** Commands that add a package, by the lock files that tell the package manager. */
const MANAGERS = {
  "pnpm-lock.yaml": "pnpm add",
  "yarn.lock": "yarn add",
  "bun.lock": "bun add",
  "bun.lockb": "bun add",
  "package-lock.json": "npm install",
};

/** How to add a package, in the words of the program's own package manager. */
export const addHint = ({ folder }: Project, what: string): string =>
  `run in ${folder}: ${findManager(folder)} ${what}`;

function findManager(folder: string): string {
  const lock = Object.entries(MANAGERS).find(([file]) => existsSync(join(folder, file)));
  if (lock !== undefined) return lock[1];
  const above = dirname(folder);
  return above === folder ? "npm install" : findManager(above);
}
