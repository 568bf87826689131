import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import packageJson from "../../package.json" with { type: "json" };

/** A package whose code is in a bundle. */
interface BundledPackage extends NpmPackage {
  /** The text of its LICENSE file, or else its author and the name of the licence. */
  text: string;
}

/** Returns the packages in a bundle, sorted. The bundle's paths are relative to the folder `root`. */
async function packagesIn({ outputs }: Metafile, root: string): Promise<BundledPackage[]> {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = files.flatMap((file) => PACKAGE.exec(file)?.[0] ?? []);
  return Promise.all([...new Set(folders)].toSorted().map((folder) => readPackage(join(root, folder))));
}

/** Matches the part of a file's path that is the folder of its package. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

interface Manifest extends NpmPackage {
  author?: unknown;
}

async function readPackage(folder: string): Promise<BundledPackage> {
  const file = (await readdir(folder)).find((name) => /^licen[cs]e(\.\w+)?$/i.test(name));
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
  const { name, version, license, author } = manifest;
  if (file === undefined && typeof author !== "string")
    throw new Error(`${folder} is in a bundle but has neither a LICENSE file nor an author in package.json`);
  const statement = `Copyright (c) ${String(author)}. License: ${license}, according to its package.json`;
  const text = file === undefined ? statement : await readFile(join(folder, file), "utf8");
  return { name, version, license, text };
}

/** Joins the licences of the packages into the file that accompanies a bundle. */
const licencesOf = (packages: readonly BundledPackage[]): string =>
  packages.map(({ name, text }) => `${name}\n\n${text.trim()}\n`).join(`\n${"-".repeat(80)}\n\n`);

/** A package of the npm registry. */
export interface NpmPackage {
  name: string;
  version: string;
  license: string;
  /** In npm's form: `sha512-` and base64. */
  integrity?: string;
}

/** A package's entry in a bill of materials. */
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

/** Writes a bundle's licences and its bill of materials beside the bundle. */
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

/** Returns a CycloneDX bill of materials with each package once. Scanners use it to find out what a bundle contains. */
export function billOf(name: string, version: string, packages: readonly BillComponent[]): string {
  const components = [...new Map(packages.map((one) => [one["bom-ref"], one])).values()];
  const component = { type: "application", "bom-ref": `${name}@${version}`, name, version };
  const format = { bomFormat: "CycloneDX", specVersion: "1.5", version: 1 };
  return `${JSON.stringify({ ...format, metadata: { component }, components }, undefined, 2)}\n`;
}

/** Parses the components in a bill that `billOf` has written. */
export const componentsIn = (bill: string): BillComponent[] =>
  (JSON.parse(bill) as { components: BillComponent[] }).components;
