import { mkdirSync, statSync, type Stats } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder (0700) and those above it that are missing; one that is there stays as it is. Throws an error of the
 * file system with its `code`: ENOTDIR where something else than a folder is in the way.
 */
export function makeFolders(folder: string): void {
  // One by one: Node's own recursive mkdir never ends where a mkdir is answered with ENOENT, as in /proc.
  const missing: string[] = [];
  for (let path = folder; !isFolder(path); path = dirname(path)) missing.push(path);
  for (const path of missing.toReversed()) makeFolder(path);
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have been first.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  const stats = findStats(path);
  if (stats === undefined) return false;
  if (stats.isDirectory()) return true;
  throw Object.assign(new Error(`${path} is not a folder`), { code: "ENOTDIR", path });
}

function findStats(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Below a file: the file itself is told of when its turn comes.
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    if (isMissing && dirname(path) !== path) return undefined;
    throw error;
  }
}
