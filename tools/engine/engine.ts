import { accessSync, constants } from "node:fs";
import { realpath } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import process from "node:process";
import { MIN_PULUMI } from "../../provider/lib/version.ts";
import { run } from "../lib/run.ts";

/** A Pulumi CLI with the Node.js language host and the launcher of dynamic providers. */
export interface Engine {
  /** The absolute path of `pulumi`. */
  command: string;
  /** The folder of `command`. */
  directory: string;
  /** Without the leading `v`, for example `3.259.0`. */
  version: string;
  /** `path`: named by `PULUMI_APICHAT_ENGINE` or found on PATH. `cache`: downloaded or built by these tools. */
  source: "path" | "cache";
}

/** The programs that must be beside `pulumi` or on PATH to run TypeScript programs with dynamic providers. */
export const hosts = ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"] as const;

/**
 * Finds the user's Pulumi CLI: the one that `PULUMI_APICHAT_ENGINE` names, else the first `pulumi` on PATH.
 * Throws if there is none, if it is too old, or if its hosts are neither beside it nor on PATH.
 */
export async function findEngine(): Promise<Engine> {
  const folders = pathFolders();
  const named = process.env.PULUMI_APICHAT_ENGINE;
  const command = named ? resolve(named) : findExecutable("pulumi", folders);
  if (command === undefined) throw new Error("pulumi is not on PATH");
  return inspectEngine(command, "path", [dirname(await realpath(command)), ...folders]);
}

/**
 * Inspects a `pulumi`. Throws if its version is not supported, or a host is neither beside it nor in
 * `hostFolders`.
 */
export async function inspectEngine(
  command: string,
  source: Engine["source"],
  hostFolders: readonly string[] = [],
): Promise<Engine> {
  const directory = dirname(command);
  const missing = hosts.find((host) => findExecutable(host, [directory, ...hostFolders]) === undefined);
  if (missing) throw new Error(`${missing} is neither beside ${command} nor on PATH`);
  const output = await run(command, ["version"], {
    env: { ...process.env, PULUMI_SKIP_UPDATE_CHECK: "true" },
    signal: AbortSignal.timeout(20_000),
  });
  const version = /^v?(\d+\.\d+\.\d+\S*)$/m.exec(output)?.[1];
  if (!version) throw new Error(`${command} version printed ${JSON.stringify(output.slice(0, 200))}`);
  if (compareVersions(version, MIN_PULUMI) < 0 || compareVersions(version, "4.0.0") >= 0) {
    throw new Error(`${command} is ${version}; at least ${MIN_PULUMI} and below 4.0.0 is needed`);
  }
  return { command, directory, version, source };
}

/** Compares two versions number by number; negative if the first is older. */
export const compareVersions = new Intl.Collator("en", { numeric: true }).compare;

export const pathFolders = (): string[] => (process.env.PATH ?? "").split(delimiter).filter(isAbsolute);

/** Returns the first executable file of this name in these folders. */
export function findExecutable(name: string, folders: readonly string[]): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
