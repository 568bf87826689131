import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import packageJson from "../../package.json" with { type: "json" };

/** A package of which a bundle contains code. */
export interface BundledPackage extends NpmPackage {
  /** The text of its file LICENSE, or without one its author and the name of the licence. */
  text: string;
}

/** The packages in a bundle, by name. `root` is the folder that the bundle's paths are relative to. */
export async function packagesIn({ outputs }: Metafile, root: string): Promise<BundledPackage[]> {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = files.flatMap((file) => PACKAGE.exec(file)?.[0] ?? []);
  return Promise.all([...new Set(folders)].toSorted().map((folder) => readPackage(join(root, folder))));
}

/** The folder of the package that a file belongs to. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

interface Manifest extends NpmPackage {
  author?: unknown;
}

async function readPackage(folder: string): Promise<BundledPackage> {
  const file = (await readdir(folder)).find((name) => /^licen[cs]e(\.\w+)?$/i.test(name));
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
  const { name, version, license, author } = manifest;
  if (file !== undefined) return { name, version, license, text: await readFile(join(folder, file), "utf8") };
  if (typeof author !== "string")
    throw new Error(`${folder} is in a bundle, and has no file LICENSE, nor an author in package.json`);
  return {
    name,
    version,
    license,
    text: `Copyright (c) ${author}. License: ${license}, as its package.json says`,
  };
}

/** The licences of the packages, one text: they go with the bundle. */
export const licencesOf = (packages: readonly BundledPackage[]): string =>
  packages.map(({ name, text }) => `${name}\n\n${text.trim()}\n`).join(`\n${"-".repeat(80)}\n\n`);

/** A package of the npm registry. */
export interface NpmPackage {
  name: string;
  version: string;
  license: string;
  /** As npm writes it: `sha512-` and base64. */
  integrity?: string;
}

/** What a bill of materials says of a package. */
export function componentOf({ name, version, license, integrity }: NpmPackage) {
  const content = Buffer.from(integrity?.slice("sha512-".length) ?? "", "base64").toString("hex");
  return {
    type: "library",
    "bom-ref": `${name}@${version}`,
    name,
    version,
    ...(content !== "" && { hashes: [{ alg: "SHA-512", content }] }),
    licenses: [{ expression: license }],
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
  };
}

type BillComponent = ReturnType<typeof componentOf>;

/** The files that {@link writePapers} writes. */
export const [LICENCES, BILL] = ["licenses.txt", "sbom.cdx.json"] as const;

/** Writes the licences and the bill of materials of what a bundle contains, beside it. */
export async function writePapers(
  folder: string,
  name: string,
  metafile: Metafile,
  root: string,
): Promise<void> {
  const packages = await packagesIn(metafile, root);
  await writeFile(join(folder, LICENCES), licencesOf(packages));
  await writeFile(join(folder, BILL), billOf(name, packageJson.version, packages.map(componentOf)));
}

/** A bill of materials in CycloneDX, as JSON: no scanner sees what a bundle contains. */
export function billOf(name: string, version: string, components: readonly BillComponent[]): string {
  const component = { type: "application", "bom-ref": `${name}@${version}`, name, version };
  const format = { bomFormat: "CycloneDX", specVersion: "1.5", version: 1 };
  return `${JSON.stringify({ ...format, metadata: { component }, components }, undefined, 2)}\n`;
}

/** What such a bill lists. */
export const componentsIn = (bill: string): BillComponent[] =>
  (JSON.parse(bill) as { components: BillComponent[] }).components;
