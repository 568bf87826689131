import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

/** Where a verification key comes from: the text itself, a file (a container's secret), or a variable of the environment. */
export type KeySource = string | { file: string } | { env: string };

/** A key, or why there is none. */
export interface ReadKey {
  key?: string;
  problem?: string;
}

/** Reads keys. `field` starts the text of a failure, `folder` is where relative paths start. */
export async function readKeys(
  sources: readonly KeySource[],
  { field, folder }: { field: string; folder: string },
): Promise<ReadKey[]> {
  return Promise.all(
    sources.map(async (source) => {
      const { key, problem } = await readKey(source, folder);
      return problem === undefined ? { key } : { problem: `${field}: ${problem}` };
    }),
  );
}

/** The files that keys come from, each once. */
export const filesOf = (sources: readonly KeySource[], folder: string): string[] => [
  ...new Set(
    sources.flatMap((source) =>
      typeof source === "object" && "file" in source ? resolve(folder, source.file) : [],
    ),
  ),
];

async function readKey(source: KeySource, folder: string): Promise<ReadKey> {
  if (typeof source === "string") return { key: source };
  if ("env" in source) return readVariable(source.env);
  const file = resolve(folder, source.file);
  try {
    // Editors and `echo` end a file with a line break, which is no part of the key.
    return { key: (await readFile(file, "utf8")).replace(/\r?\n$/, "") };
  } catch (error) {
    return {
      problem: `must be a file that can be read, got ${file} (${(error as NodeJS.ErrnoException).code})`,
    };
  }
}

function readVariable(name: string): ReadKey {
  const key = process.env[name];
  if (key !== undefined && key !== "") return { key };
  return { problem: `must be a variable of the environment, got ${name}, which is not set` };
}
