import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command } from "commander";
import type { ConfiguredPlace } from "../server/config.js";
import type { Spool } from "../server/spool/spool.js";
import { SPOOL_FILE } from "../lib/files.js";
import { JSON_FAILURES } from "./output.js";
import { UsageError } from "./usage-error.js";

/** Which data folder: named itself, or by the configuration of its responder; and which workspace of it. */
export interface PlaceOptions {
  dataDir?: string;
  config?: string;
  workspace?: string;
}

/** Ends the help of each command that works on a spool. */
export const EXIT_CODES = `
${JSON_FAILURES}
Exit code: 0 done, 1 failed, 2 wrong use or a wrong configuration.`;

/** A command that works on the spool of a responder. */
export const placeCommand = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .option("--data-dir <dir>", "data folder of the responder")
    .option("--config <file>", "configuration that names the data folder");

/** Gives the data folder. Throws a UsageError unless exactly one option names it. */
async function findPlace({ dataDir, config }: PlaceOptions): Promise<Partial<ConfiguredPlace>> {
  if ((dataDir === undefined) === (config === undefined)) {
    throw new UsageError("name the data folder: either --data-dir <dir> or --config <file>");
  }
  if (dataDir !== undefined) return { dataDir: resolve(dataDir) };
  // Loaded here, because `--help` needs no zod.
  const { readPlace } = await import("../server/config.js");
  return readPlace(config ?? "");
}

/**
 * Opens the spool that the options name, for one piece of work; its responder may be running. Throws a UsageError if there
 * is none, or if neither the configuration nor the spool knows the workspace; without a configuration any workspace will do.
 */
export async function withSpool<T>(
  options: PlaceOptions,
  work: (spool: Spool, dataDir: string) => T | Promise<T>,
): Promise<T> {
  const { dataDir = "", workspaces } = await findPlace(options);
  const spool = await openKeptSpool(dataDir);
  try {
    if (workspaces !== undefined) checkWorkspace(options, [...workspaces, ...spool.counts().keys()]);
    return await work(spool, dataDir);
  } finally {
    spool.close();
  }
}

async function openKeptSpool(dataDir: string): Promise<Spool> {
  const file = join(dataDir, SPOOL_FILE);
  if (!existsSync(file)) {
    throw new UsageError(
      `no responder has run on ${dataDir} yet, so nothing is kept there; start it, or name the data folder of another`,
    );
  }
  const { openSpool } = await import("../server/spool/spool.js");
  return openSpool(file, { create: false });
}

function checkWorkspace({ workspace }: PlaceOptions, known: readonly string[]): void {
  if (workspace === undefined || known.includes(workspace)) return;
  throw new UsageError(`no such workspace; there are ${[...new Set(known)].join(", ")}`);
}
