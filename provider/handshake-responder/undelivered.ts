import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { hasSpool } from "./data-dir.js";
import { processEnvironment } from "./environment.js";
import { COUNT_PROGRAM } from "./program.js";

const run = promisify(execFile);
const COUNT_MS = 20_000;

/**
 * How many deliveries a folder holds that were acknowledged and not forwarded, dead letters among them; undefined if that
 * cannot be told. A process of its own counts them: the provider loads no SQLite.
 */
export async function countUndelivered(dataDir: string): Promise<number | undefined> {
  if (!(await hasSpool(dataDir))) return 0;
  const [command, ...program] = COUNT_PROGRAM;
  const options = { env: processEnvironment(), timeout: COUNT_MS };
  const { stdout } = await run(command, [...program, dataDir], options).catch(() => ({ stdout: "" }));
  return /^\d+$/.test(stdout.trim()) ? Number(stdout) : undefined;
}
