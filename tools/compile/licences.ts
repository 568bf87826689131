import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Metafile } from "esbuild";

/** The licences of the packages in a bundle, one text: they go with it. `root` is the folder that the bundle's paths are relative to. */
export async function licencesOf({ outputs }: Metafile, root: string): Promise<string> {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = files.flatMap((file) => PACKAGE.exec(file)?.[0] ?? []);
  const texts = await Promise.all([...new Set(folders)].toSorted().map((folder) => licenceIn(root, folder)));
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

/** The folder of the package that a file belongs to. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

async function licenceIn(root: string, folder: string): Promise<string> {
  const file = (await readdir(join(root, folder))).find((name) => /^licen[cs]e(\.\w+)?$/i.test(name));
  if (file === undefined) throw new Error(`${folder} is in a bundle, and has no file LICENSE`);
  const text = await readFile(join(root, folder, file), "utf8");
  return `${folder.replace(/^.*node_modules\//, "")}\n\n${text.trim()}\n`;
}
