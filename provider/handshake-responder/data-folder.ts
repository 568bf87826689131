import { existsSync, realpathSync } from "node:fs";
import { chmod, readdir, rm, rmdir } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ApiChatError, commandLine } from "../errors/index.js";
import { hasErrorCode, readFileIfExists, writePrivateFile } from "../lib/files.js";
import { isMap, jsonOrText } from "../lib/values.js";
import {
  fileShape,
  type FileConfig,
  countKept,
  makeDataDir,
  RESERVE_FILE,
  SPOOL_FILE,
} from "../server/remote.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";

/** Contains the instance key of the resource that owns the folder. */
const OWNER_FILE = "owner.txt";

const OUR_FILE =
  /^(owner\.txt|config\.json|instance\.json|start\.log|responder\.log|lock\.sqlite|spool\.sqlite)/;

const isOfSpool = (file: string): boolean => file.startsWith(SPOOL_FILE);

const isKept = (file: string): boolean => file === OWNER_FILE || (isOfSpool(file) && file !== RESERVE_FILE);

/** Whether a folder is inside another one, or is the same folder. Neither needs to exist. */
export function isWithin(folder: string, parent: string): boolean {
  const path = relative(realPathOf(parent), realPathOf(folder));
  return path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? resolve(path) : join(realPathOf(parent), relative(parent, path));
  }
}

/**
 * Throws `invalid_config` if the folder contains files of other programs, `conflict` if it belongs to another stack.
 * Accepts the folder of another resource of this stack, because that may be this resource under its previous name.
 */
export async function prepareDataDir(inputs: ProcessInputs, previous?: ProcessState): Promise<void> {
  const { dataDir } = inputs;
  makeDataDir(dataDir);
  const files = await readdir(dataDir);
  const foreign = files.find((file) => !OUR_FILE.test(file));
  if (foreign !== undefined) {
    throw dataDirError("invalid_config", `but ${dataDir} contains "${foreign}"; choose a new one`);
  }
  const stacks = [inputs, ...(previous ? [previous] : [])].map(({ instanceKey }) => stackKeyOf(instanceKey));
  const owner = readOwner(dataDir);
  // A folder that contains nothing but deliveries can be taken over without losing any.
  const isNew = files.every((file) => isOfSpool(file));
  if (!isNew && !stacks.includes(stackKeyOf(owner ?? ""))) {
    const whose = owner === undefined ? "a responder without a stack" : `the stack ${stackKeyOf(owner)}`;
    throw dataDirError(
      "conflict",
      `but ${dataDir} belongs to ${whose}; choose a new folder, or remove this one if nothing needs it any more`,
    );
  }
  await chmod(dataDir, 0o700);
  if (isNew) await recordOwner(inputs);
}

const dataDirError = (code: "invalid_config" | "conflict", but: string): ApiChatError =>
  new ApiChatError(code, "", {
    operation: "responder",
    problems: [{ field: "dataDir", text: `must be a separate folder, ${but}` }],
  });

export const recordOwner = ({ dataDir, instanceKey }: ProcessInputs): Promise<void> =>
  writePrivateFile(join(dataDir, OWNER_FILE), `${instanceKey}\n`);

const readOwner = (dataDir: string): string | undefined =>
  readFileIfExists(join(dataDir, OWNER_FILE))?.trim();

const stackKeyOf = (instanceKey: string): string => instanceKey.split("/").slice(0, 2).join("/");

/** Returns the instance key of the folder's owner, unless the owner is the resource of this state. */
export function otherOwnerOf({ dataDir, instanceKey }: ProcessState): string | undefined {
  const owner = readOwner(dataDir);
  return owner === instanceKey ? undefined : owner;
}

/** The file that the process reads; it contains the keys. */
export const configPathOf = (dataDir: string): string => join(dataDir, "config.json");

export function formatConfig({ host, dataDir, workspaces }: ProcessInputs, port: number): string {
  const config: FileConfig = { host, port, dataDir, workspaces };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

export const readConfigFile = (dataDir: string): string | undefined =>
  readFileIfExists(configPathOf(dataDir));

/** Writes what {@link readConfigFile} returned, or a new configuration. If `config` is undefined, removes the file. */
export async function writeConfigFile(dataDir: string, config: string | undefined): Promise<void> {
  if (config === undefined) await rm(configPathOf(dataDir), { force: true });
  else await writePrivateFile(configPathOf(dataDir), config);
}

/** Returns the port in a folder's configuration, which stays even if a refresh finds the process gone. */
export function configuredPort(dataDir: string): number | undefined {
  const config = jsonOrText(readConfigFile(dataDir) ?? "");
  // An invalid port, edited by hand, is ignored: the file is about to be replaced.
  return isMap(config) ? fileShape.shape.port.safeParse(config["port"]).data : undefined;
}

/**
 * Removes our files, but keeps deliveries that were acknowledged but not forwarded, and the record of their
 * owner. Leaves another responder's folder unchanged. Returns a warning in that case, or if deliveries are kept.
 */
export async function cleanUpDataDir(dataDir: string): Promise<string | undefined> {
  if (!existsSync(dataDir)) return undefined;
  if (readOwner(dataDir) === undefined) return `${dataDir} belongs to another responder and was not changed`;
  // undefined if the deliveries cannot be counted.
  const count = await countKept(dataDir).catch(() => undefined);
  const files = (await readdir(dataDir)).filter((file) => OUR_FILE.test(file));
  const removed = files.filter((file) => count === 0 || !isKept(file));
  await Promise.all(removed.map((file) => rm(join(dataDir, file), { force: true })));
  if (count !== 0) return describeKept(dataDir, count);
  await rmdir(dataDir).catch((error: unknown) => {
    // On Windows, EBUSY or EPERM: the process has not fully exited yet.
    if (!hasErrorCode(error, "ENOENT", "ENOTEMPTY", "EEXIST", "EBUSY", "EPERM")) throw error;
  });
  return undefined;
}

function describeKept(dataDir: string, count: number | undefined): string {
  const counted = count === 1 ? "1 delivery was" : `${count} deliveries were`;
  const what = count === undefined ? "deliveries may not have been forwarded" : `${counted} not forwarded`;
  return (
    `${what}: kept in ${dataDir}. To see them, run ${commandLine()} responder deliveries --data-dir ` +
    `${dataDir}, or responder dead-letters with the same option. ` +
    "A responder with this dataDir will forward them; to discard them, remove the folder"
  );
}
