import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterTests } from "./http.ts";

/** Node's cache of compiled modules, which halves the time that a program or a provider takes to load. */
export const compileCache = fileURLToPath(
  new URL("../../node_modules/.cache/compiled-for-tests", import.meta.url),
);

/**
 * Variables that save a quarter of the CPU time of a `pulumi` command, its program and its provider: modules
 * are compiled once, memory is freed less often, and types are not checked (`npm run check` checks them).
 */
export const fasterPulumi = {
  NODE_COMPILE_CACHE: compileCache,
  NODE_OPTIONS: "--max-semi-space-size=64",
  GOGC: "off",
  GOMEMLIMIT: "256MiB",
  PULUMI_NODEJS_TRANSPILE_ONLY: "true",
};

/** Creates a folder that only its owner can read. It is removed after the last test of the test file. */
export async function makeFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "apichat-test-")));
  afterTests(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
