import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../lib/run.ts";

/** Writes the bills of materials: of the npm package as npm says it, of the plugin as the bundler does. */
export async function writeBill(source: string, folder: string, signal: AbortSignal): Promise<void> {
  const args = ["sbom", "--sbom-format=cyclonedx", "--omit=dev", "--package-lock-only", "--loglevel=error"];
  const bill = JSON.parse(await run("npm", args, { cwd: source, signal })) as Bill;
  // They differ in each run.
  delete bill.serialNumber;
  delete bill.metadata.timestamp;
  bill.metadata.component.name = "pulumi-apichat";
  await writeFile(join(folder, "pulumi-apichat.cdx.json"), `${JSON.stringify(bill, undefined, 2)}\n`);
  await copyFile(join(source, "plugin/sbom.cdx.json"), join(folder, "pulumi-resource-apichat.cdx.json"));
}

interface Bill {
  serialNumber?: string;
  metadata: { timestamp?: string; component: { name: string } };
}

/** Writes the section of the version in CHANGELOG.md. */
export async function writeNotes(source: string, folder: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(source, "package.json"), "utf8")) as { version: string };
  const changelog = await readFile(join(source, "CHANGELOG.md"), "utf8");
  const section = changelog.split(/^(?=## )/m).find((text) => text.startsWith(`## ${version}`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  await writeFile(join(folder, "release-notes.md"), section.replace(/^## .*\n+/, ""));
}
