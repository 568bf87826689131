import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { isLoopback } from "../../emulator/control/loopback.js";
import { printUrl } from "../../lib/url.js";
import { UsageError } from "../usage-error.js";
import { EMULATOR_URL, nextCommands } from "./next-commands.js";
import { packageSource } from "./package-source.js";
import { programFiles } from "./program-files.js";

export interface InitRequest {
  folder: string;
  /** Default: that of the emulator. */
  baseUrl: string | undefined;
  webhookUrl: string | undefined;
}

export interface WrittenProgram {
  /** An absolute path. */
  folder: string;
  files: string[];
  /** What to do next: commands for a shell, each of which may be several lines. */
  next: string[];
}

/**
 * Writes a Pulumi program into a folder, which is made if need be. Throws a UsageError, and writes nothing, if one of the files
 * is there already, if a URL has a query, or if the service could not reach the responder of the program.
 */
export async function writeProgram({ folder: given, ...request }: InitRequest): Promise<WrittenProgram> {
  const { baseUrl = EMULATOR_URL, webhookUrl } = request;
  refuseQueries({ "--base-url": baseUrl, "--webhook-url": webhookUrl });
  if (webhookUrl === undefined && !isLoopback(new URL(baseUrl).hostname.replaceAll(/[[\]]/g, ""))) {
    throw new UsageError(
      `--webhook-url: is missing; ${printUrl(baseUrl)} cannot reach a responder on this machine: give the URL of your endpoint, or of a tunnel that leads to it`,
    );
  }
  const folder = resolve(given);
  const name = toProjectName(basename(folder));
  const files = programFiles({ name, source: await packageSource(), baseUrl, webhookUrl });
  const existing = Object.keys(files).filter((file) => existsSync(join(folder, file)));
  if (existing.length > 0) {
    throw new UsageError(
      `${folder} has ${existing.join(", ")} already, so nothing was written; give another folder, such as apichat init my-webhooks`,
    );
  }
  await mkdir(folder, { recursive: true });
  await writeAll(folder, files);
  return { folder, files: Object.keys(files), next: nextCommands({ folder, baseUrl, webhookUrl }) };
}

/** What was written, and the commands to paste, for people. */
export const formatNext = ({ folder, files, next }: WrittenProgram): string =>
  `wrote ${files.join(", ")} in ${folder}\n\nPaste next, one after the other:\n\n${next.join("\n\n")}\n\n` +
  "npx apichat doctor says what is missing on this machine.\n";

/** A query may hold a token, and the program's files are committed. */
function refuseQueries(urls: Record<string, string | undefined>): void {
  for (const [flag, url] of Object.entries(urls)) {
    if (!url?.includes("?")) continue;
    throw new UsageError(
      `${flag}: must have no query, which would be in clear in a file, got ${printUrl(url)}; give it without the query`,
    );
  }
}

/** What npm and Pulumi both take as a name. */
const toProjectName = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "apichat-webhooks";

/** Writes all files or none: one that is there stays as it is. */
async function writeAll(folder: string, files: Record<string, string>): Promise<void> {
  const begun: string[] = [];
  try {
    for (const name of Object.keys(files)) {
      await writeFile(join(folder, name), "", { flag: "wx" });
      begun.push(name);
    }
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  } catch (error) {
    await Promise.all(begun.map((name) => rm(join(folder, name))));
    throw error;
  }
}
