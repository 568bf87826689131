import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const folders: string[] = [];
afterAll(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

/** A folder for its owner only, gone after the tests. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-server-"));
  folders.push(folder);
  return folder;
}

export const KEY = "verification-key/of+acme=&<é>0123456789";
export const SECOND_KEY = "second-verification-key-0123456789abc";

/** Writes a configuration; text is written as it is. */
export async function writeConfig(folder: string, config: unknown, mode = 0o600): Promise<string> {
  const file = join(folder, "config.json");
  await writeFile(file, typeof config === "string" ? config : JSON.stringify(config), { mode });
  return file;
}
