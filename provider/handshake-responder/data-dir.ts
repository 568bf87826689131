import { realpathSync } from "node:fs";
import { chmod, readdir, rm, rmdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ApiChatError } from "../errors/index.js";
import { makeDataDir } from "../lib/files.js";
import { SPOOL_FILE } from "../server/names.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { belongsTo, OWNER_FILE, readOwner, writeOwner } from "./owner.js";

/** What the process and this resource write into the folder. */
const OUR_FILE =
  /^(owner\.txt|config\.json|instance\.json|start\.log|responder\.log|lock\.sqlite|spool\.sqlite)/;

const isOfSpool = (file: string): boolean => file.startsWith(SPOOL_FILE);

/** The user's folder for all responders. */
export function stateFolder(): string {
  const given = process.env["XDG_STATE_HOME"] ?? "";
  // The specification of these folders has relative ones ignored.
  return join(isAbsolute(given) ? given : join(homedir(), ".local", "state"), "pulumi-apichat");
}

/** Whether a folder lies in another one, or is it. Neither needs to exist. */
export function isWithin(folder: string, parent: string): boolean {
  const path = relative(realPathOf(parent), realPathOf(folder));
  return path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

/** The path with the links of the part that exists resolved. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? resolve(path) : join(realPathOf(parent), relative(parent, path));
  }
}

/**
 * Makes the folder, for its owner only, and writes into it whose it is. Throws `invalid_config` for one that holds files of
 * others, and `conflict` for one of another stack; `former` is the state of the resource, if it has one.
 */
export async function prepareDataDir(inputs: ProcessInputs, former?: ProcessState): Promise<void> {
  const { dataDir } = inputs;
  makeDataDir(dataDir);
  const files = await readdir(dataDir);
  const foreign = files.find((file) => !OUR_FILE.test(file));
  if (foreign !== undefined) {
    throw new ApiChatError(
      "invalid_config",
      `dataDir: must be a folder of its own, and ${dataDir} holds "${foreign}"; name a new one`,
      { operation: "responder" },
    );
  }
  // Nothing of deliveries alone would be overwritten.
  const isNew = files.every((file) => isOfSpool(file));
  if (!isNew && !belongsTo(dataDir, former ? [inputs, former] : [inputs])) throw notOurs(dataDir);
  await chmod(dataDir, 0o700);
  await writeOwner(dataDir, inputs);
}

function notOurs(dataDir: string): ApiChatError {
  const owner = readOwner(dataDir);
  const whose = owner === undefined ? "a responder with other keys" : `the stack ${owner}`;
  return new ApiChatError(
    "conflict",
    `dataDir: must be a folder of its own, and ${dataDir} belongs to ${whose}; name a new one, or remove that one if nothing needs it any more`,
    { operation: "responder" },
  );
}

/** Whether a folder holds a spool, in which deliveries may lie. */
export async function hasSpool(dataDir: string): Promise<boolean> {
  return (await filesIn(dataDir)).some((file) => isOfSpool(file));
}

/**
 * Removes the files of a process that has ended, the keys among them, and the folder if nothing else is in it. With the
 * spool it stays known whose it is.
 */
export async function tidyDataDir(dataDir: string, { keepSpool }: { keepSpool: boolean }): Promise<void> {
  const files = (await filesIn(dataDir)).filter((file) => OUR_FILE.test(file));
  const removed = files.filter((file) => !(keepSpool && (isOfSpool(file) || file === OWNER_FILE)));
  await Promise.all(removed.map((file) => rm(join(dataDir, file), { force: true })));
  if (!keepSpool) await removeIfEmpty(dataDir);
}

async function removeIfEmpty(dataDir: string): Promise<void> {
  try {
    await rmdir(dataDir);
  } catch (error) {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

async function filesIn(dataDir: string): Promise<string[]> {
  try {
    return await readdir(dataDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
