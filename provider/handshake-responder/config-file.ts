import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../lib/files.js";
import type { ProcessInputs } from "./inputs.js";

/** The file that the process reads; it holds the keys. */
export const configPathOf = (dataDir: string): string => join(dataDir, "config.json");

/** The configuration of the process, as it stands in its file. */
export function formatConfig(inputs: ProcessInputs, port: number): string {
  const workspaces = Object.entries(inputs.workspaces).map(([name, { path, forwardTo }]) => {
    const verificationKeys = inputs.verificationKeys[name];
    return [name, { verificationKeys, path, ...(forwardTo === undefined ? {} : { forwardTo }) }] as const;
  });
  const config = {
    host: inputs.host,
    port,
    dataDir: inputs.dataDir,
    workspaces: Object.fromEntries(workspaces),
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

export const writeConfig = (dataDir: string, config: string): Promise<void> =>
  writePrivateFile(configPathOf(dataDir), config);

/** The configuration that a folder holds; undefined if none. */
export async function readConfig(dataDir: string): Promise<string | undefined> {
  try {
    return await readFile(configPathOf(dataDir), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Puts back what {@link readConfig} gave. */
export async function restoreConfig(dataDir: string, before: string | undefined): Promise<void> {
  if (before === undefined) await rm(configPathOf(dataDir), { force: true });
  else await writeConfig(dataDir, before);
}

/** As the process states which configuration it has applied. */
export const digestOf = (config: string): string => createHash("sha256").update(config).digest("hex");

/** The port that a configuration names: kept there when a refresh has found the process gone. */
export function portOfConfig(config: string): number | undefined {
  try {
    const { port } = JSON.parse(config) as { port?: unknown };
    return typeof port === "number" && Number.isInteger(port) && port > 0 ? port : undefined;
  } catch {
    // Edited by hand, and about to be written anew.
    return undefined;
  }
}
