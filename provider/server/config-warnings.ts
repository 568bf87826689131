import { stat } from "node:fs/promises";
import { isClearText } from "../resource/checks.js";
import { printUrl } from "../lib/url.js";
import type { ServerConfig } from "./config.js";
import type { FileConfig } from "./config-shape.js";
import { filesOf } from "./key-source.js";

/** What works, and should be fixed nevertheless: one line each. */
export async function warningsOf(
  file: string,
  { given, config, folder }: { given: FileConfig; config: ServerConfig; folder: string },
): Promise<string[]> {
  const sources = Object.values(given.workspaces).flatMap(({ verificationKeys }) => verificationKeys);
  const files = [
    ...(sources.some((source) => typeof source === "string") ? [{ file, what: "keys" }] : []),
    ...filesOf(sources, folder).map((keyFile) => ({ file: keyFile, what: "a key" })),
  ];
  return [...(await Promise.all(files.map(warnOfMode))).flat(), ...warnOfClearText(config)];
}

async function warnOfMode({ file, what }: { file: string; what: string }): Promise<string[]> {
  const { mode } = await stat(file);
  if ((mode & 0o077) === 0) return [];
  return [`${file} holds ${what} and can be read by other users of this machine: chmod 600 ${file}`];
}

function warnOfClearText({ workspaces }: ServerConfig): string[] {
  return Object.entries(workspaces).flatMap(([name, { forwardTo }]) =>
    forwardTo !== undefined && isClearText(forwardTo)
      ? [
          `workspaces.${name}.forwardTo: ${printUrl(forwardTo)} is not encrypted: messages travel in clear; use https`,
        ]
      : [],
  );
}
