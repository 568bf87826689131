import { access, constants, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { print } from "../../cli/output.js";
import { tableOptionsOf } from "../../cli/table.js";
import { UsageError } from "../../cli/usage-error.js";
import type { Format, RenderOptions } from "../render/render.js";
import type { OutputOptions } from "./options.js";
import type { Session } from "./run-on-fleet.js";

export type Render<Report> = (report: Report, format: Format, options?: RenderOptions) => string;

/** Throws if a report could not be written: that would come out when the run is over. */
export async function checkFolders({ markdownFile, jsonFile }: OutputOptions): Promise<void> {
  for (const [flag, file] of [
    ["--markdown-file", markdownFile] as const,
    ["--json-file", jsonFile] as const,
  ]) {
    if (file === undefined) continue;
    const folder = dirname(resolve(file));
    await access(folder, constants.W_OK).catch(() => {
      throw new UsageError(
        `${flag}: nothing can be written in the folder ${folder}; make it, or name another one`,
      );
    });
  }
}

/** Prints a report as the options say, and writes it into the files that they name. */
export async function deliver<Report>(
  report: Report,
  render: Render<Report>,
  { options, session }: { options: OutputOptions; session: Session },
): Promise<void> {
  const { program } = session;
  print(render(report, formatOf(options), { table: tableOptionsOf(process.stdout), program }));
  const { markdownFile, jsonFile } = options;
  if (markdownFile !== undefined) await writeFile(markdownFile, render(report, "markdown", { program }));
  if (jsonFile !== undefined) await writeFile(jsonFile, render(report, "json"));
}

function formatOf({ json, markdown }: OutputOptions): Format {
  if (json) return "json";
  return markdown ? "markdown" : "text";
}
