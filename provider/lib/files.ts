import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  type Stats,
} from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { invalidFields, type ApiChatError } from "../errors/index.js";
import { sleep } from "./abort.js";

/**
 * Writes a file atomically (0600): readers see the old text or the new one. If it throws, no part of the new text
 * is left on the disk; the error has the path and the file system's `code`.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: "wx" });
    await replace(path, temporary);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    const { code, message } = cause as NodeJS.ErrnoException;
    throw Object.assign(new Error(`cannot write ${path}: ${message}`, { cause }), { code, path });
  }
}

/** How many times a rename is attempted on Windows, with growing pauses that add up to two seconds. */
const RENAMES = 14;

/** On Windows, a file cannot be replaced while another process, such as a virus scanner, has it open. */
async function replace(path: string, temporary: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(temporary, path);
    } catch (error) {
      const isOpen = process.platform === "win32" && hasErrorCode(error, "EPERM", "EACCES", "EBUSY");
      if (!isOpen || attempt === RENAMES) throw error;
      await sleep(attempt * 20);
    }
  }
}

/** Returns a warning if other users can open a file or folder that holds secrets. Ignores pipes and missing files. */
export function warningOfMode(path: string, what: string): string | undefined {
  const stats = findStats(path);
  if (stats === undefined) return undefined;
  const isOpen = (stats.mode & 0o077) !== 0 && (stats.isFile() || stats.isDirectory());
  // Windows has no such mode bits.
  if (!isOpen || process.platform === "win32") return undefined;
  const mode = stats.isDirectory() ? 700 : 600;
  return `${path} holds ${what} and is open to other users of this machine: chmod ${mode} ${path}`;
}

/** Creates a missing file (0600). An existing file is not opened, because closing it would release our locks on it. */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!hasErrorCode(error, "EEXIST")) throw error;
  }
}

/** Reads a file. Returns undefined if there is none. Throws the file system's error if the file cannot be read. */
export function readFileIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasErrorCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

export const hasErrorCode = (error: unknown, ...codes: string[]): boolean =>
  codes.includes((error as NodeJS.ErrnoException).code ?? "");

/**
 * Creates a folder (0700) and its missing parents; an existing folder is not changed. Throws file-system errors
 * with their `code`, such as ENOTDIR if part of the path exists but is not a folder.
 */
export function makeFolders(folder: string): void {
  const found = findStats(folder);
  if (found?.isDirectory()) return;
  if (found) throw Object.assign(new Error(`${folder} is not a folder`), { code: "ENOTDIR", path: folder });
  // One folder at a time: Node's recursive mkdir never returns if a mkdir fails with ENOENT, as in /proc.
  if (dirname(folder) !== folder) makeFolders(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it first.
    if (!findStats(folder)?.isDirectory()) throw error;
  }
}

const findStats = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

/** The size of a file in bytes; 0 if there is none. */
export const fileSize = (path: string): number => findStats(path)?.size ?? 0;

/** A day in milliseconds. No run lasts this long. */
const STALE_MS = 24 * 60 * 60 * 1000;

/** Removes files and subfolders of earlier runs: those with a matching name, unchanged for more than a day. */
export function removeStale(folder: string, name = /./): void {
  for (const path of readdirSync(folder).flatMap((file) => (name.test(file) ? join(folder, file) : []))) {
    // Another process may have removed it by now.
    const writtenMs = findStats(path)?.mtimeMs ?? Date.now();
    if (Date.now() - writtenMs > STALE_MS) rmSync(path, { recursive: true, force: true });
  }
}

export function stateFolder(): string {
  const given = process.env["XDG_STATE_HOME"] ?? "";
  // The XDG specification says to ignore a relative path.
  return join(isAbsolute(given) ? given : join(homedir(), ".local", "state"), "pulumi-apichat");
}

const PROJECT_FILES = ["Pulumi.yaml", "Pulumi.yml", "Pulumi.json"];

/** Finds the project file of a Pulumi program in a folder or above it, as pulumi does. */
export function findProjectFile(folder = process.cwd()): string | undefined {
  const file = PROJECT_FILES.map((name) => join(folder, name)).find((path) => existsSync(path));
  const above = dirname(folder);
  return file ?? (above === folder ? undefined : findProjectFile(above));
}

/** Reads UTF-8 text. Throws `invalid_config`, which names the `wanted` kind of file, such as "YAML or JSON". */
export async function readTextFile(path: string, wanted: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    throw invalidConfig([
      syscall === undefined
        ? `${path}: must be UTF-8 text; save it in that encoding`
        : `${path}: cannot be read (${code}); give the path of a ${wanted} file`,
    ]);
  }
}

/** Creates an `invalid_config` error with a line for each problem. */
export const invalidConfig = (problems: readonly string[]): ApiChatError =>
  invalidFields(problems.map((text) => ({ field: "", text })));
