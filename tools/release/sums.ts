import { hash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

export const SUMS = "SHA256SUMS";

/** Writes `SHA256SUMS` of the files in a folder, in the format of `sha256sum --check`. */
export async function writeSums(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name !== SUMS);
  const lines = names
    .toSorted()
    .map(async (name) => `${hash("sha256", await readFile(join(folder, name)))}  ${name}\n`);
  await writeFile(join(folder, SUMS), (await Promise.all(lines)).join(""));
}

/** Lists each file with its size, one per line. */
export async function describeFiles(folder: string): Promise<string> {
  const lines = (await readdir(folder)).toSorted().map(async (name) => {
    const { size } = await stat(join(folder, name));
    return `${(size / 1e6).toFixed(2).padStart(8)} MB  ${name}`;
  });
  return (await Promise.all(lines)).join("\n");
}
