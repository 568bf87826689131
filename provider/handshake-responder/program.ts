import { fileURLToPath } from "node:url";

const programOf = (path: string): readonly [string, string] => [
  process.execPath,
  fileURLToPath(new URL(path, import.meta.url)),
];

/** The command line of the package's own bin, without a shell and without PATH. */
export const PROGRAM = programOf("../cli/main.js");

/** The command line of what counts the deliveries in a folder. */
export const COUNT_PROGRAM = programOf("count-kept.js");
