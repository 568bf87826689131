import { hash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { billOf, componentOf, componentsIn, type NpmPackage } from "../compile/bundled.ts";
import { versionOf } from "./archives.ts";

/** The npm package's folders that contain bundles. Each also contains a bill of materials for its bundles. */
const BUNDLES = ["plugin", "dist/provider/emulator/page"];

/**
 * Writes the bill of materials of the npm package: the packages that the lock file installs with it, and
 * those in its bundles. (`npm sbom --omit=dev` would leave out packages that development also needs.)
 */
export async function writeBill(source: string, folder: string): Promise<void> {
  const read = (name: string): Promise<string> => readFile(join(source, name), "utf8");
  const lock = JSON.parse(await read("package-lock.json")) as Lock;
  const installed = Object.entries(lock.packages)
    .filter(
      ([path, { dev, devOptional, link, optional, peer }]) =>
        path && !(dev || devOptional || link || optional || peer),
    )
    .map(([path, one]) => componentOf({ ...one, name: path.replace(/^.*node_modules\//, "") }));
  const bundled = await Promise.all(BUNDLES.map((bundle) => read(`${bundle}/sbom.cdx.json`)));
  const bill = billOf(lock.name, lock.version, [...bundled.flatMap(componentsIn), ...installed]);
  await writeFile(join(folder, "pulumi-apichat.cdx.json"), bill);
}

interface Lock {
  name: string;
  version: string;
  packages: Record<
    string,
    NpmPackage & Partial<Record<"dev" | "devOptional" | "link" | "optional" | "peer", true>>
  >;
}

/** Writes the version's section of CHANGELOG.md to release-notes.md. */
export async function writeNotes(source: string, folder: string): Promise<void> {
  const heading = `## ${await versionOf(source)}`;
  const changelog = await readFile(join(source, "CHANGELOG.md"), "utf8");
  const section = changelog.split(/^(?=## )/m).find((text) => /^## \S+/.exec(text)?.[0] === heading);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "${heading}"`);
  await writeFile(join(folder, "release-notes.md"), section.replace(/^## .*\n+/, ""));
}

export const SUMS = "SHA256SUMS";

/** Writes `SHA256SUMS` of the files in a folder, in the format of `sha256sum --check`. Returns its text. */
export async function writeSums(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name !== SUMS);
  const lines = names
    .toSorted()
    .map(async (name) => `${hash("sha256", await readFile(join(folder, name)))}  ${name}\n`);
  const text = (await Promise.all(lines)).join("");
  await writeFile(join(folder, SUMS), text);
  return text;
}
