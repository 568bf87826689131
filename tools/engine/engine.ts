import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { run } from "../setup/processes.mjs";

/** A Pulumi CLI with the Node.js language host and the launcher of dynamic providers. */
export interface Engine {
  /** The absolute path of `pulumi`. */
  command: string;
  /** The folder `command` lies in. */
  directory: string;
  /** Without the leading `v`, for example `3.259.0`. */
  version: string;
  source: EngineSource;
}

/** Named by `PULUMI_APICHAT_ENGINE` or found on PATH, downloaded by Pulumi's own installer, or built with Go. */
export type EngineSource = "path" | "installer" | "build";

/** The oldest CLI that the provider supports, as in `peerDependencies`. */
const oldestVersion = "3.216.0";

/** What must lie beside `pulumi`, or on PATH, to run TypeScript programs with dynamic providers. */
export const hosts = ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"] as const;

const versionTimeoutMs = 20_000;

/** Asks a `pulumi` for its version. Throws if it does not run, or is not at least 3.216 and before 4. */
export async function readVersion(command: string, env: NodeJS.ProcessEnv): Promise<string> {
  const output = await run(command, ["version"], {
    env: { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" },
    signal: AbortSignal.timeout(versionTimeoutMs),
  });
  const version = /^v?(\d+\.\d+\.\d+\S*)$/m.exec(output)?.[1];
  if (version === undefined)
    throw new Error(`${command} version printed ${JSON.stringify(output.slice(0, 200))}`);
  if (compareVersions(version, oldestVersion) < 0 || compareVersions(version, "4.0.0") >= 0) {
    throw new Error(`${command} is ${version}; accepted are ${oldestVersion} and newer, before 4`);
  }
  return version;
}

/** Negative if `left` is older than `right`, 0 if equal, else positive. Looks at the numbers only: `3.216.0-rc` is `3.216.0`. */
export function compareVersions(left: string, right: string): number {
  const rightNumbers = versionNumbers(right);
  for (const [index, number] of versionNumbers(left).entries()) {
    const difference = number - (rightNumbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function versionNumbers(version: string): number[] {
  return (version.match(/\d+/g) ?? []).slice(0, 3).map(Number);
}

/** The first executable file of this name in these folders. */
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
