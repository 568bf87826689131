import { access, copyFile, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { cacheEntry } from "../../tools/engine/cache.ts";
import { withLock } from "../../tools/setup/lock.mjs";
import { CommandError, run } from "../../tools/setup/run.mjs";
import { withProgress } from "../../tools/setup/progress.mjs";

/** A program that asks the Runtime API for events and runs a handler. */
export interface RuntimeClient {
  /** As the tests name it. */
  name: string;
  /** What Node.js runs. */
  script: string;
}

/** Speaks the same protocol as the client of AWS. */
export const loopClient: RuntimeClient = {
  name: "a loop of ours, because aws-lambda-ric did not build here",
  script: fileURLToPath(new URL("aws-runtime-loop.mjs", import.meta.url)),
};

const manifest = new URL("aws-lambda-ric/package.json", import.meta.url);
const installSeconds = 300;

/**
 * The client of the real runtime, built once per machine into the cache beside the engine (it needs cmake, make, a C++
 * compiler and Node's headers: 40 to 80 seconds), else {@link loopClient}.
 */
export async function resolveRuntimeClient(): Promise<RuntimeClient> {
  const entry = await cacheEntry(process.env, "aws-lambda-ric", [manifest]);
  const script = join(entry, "node_modules", "aws-lambda-ric", "index.mjs");
  try {
    await withLock(`${entry}.lock`, undefined, async () => {
      if (!(await exists(script))) await install(entry);
    });
    return { name: "the runtime client of AWS (aws-lambda-ric)", script };
  } catch (error) {
    console.error(`  aws-lambda-ric did not build: ${reasonOf(error)}`);
    return loopClient;
  }
}

async function install(entry: string): Promise<void> {
  const folder = `${entry}.partial`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await copyFile(manifest, join(folder, "package.json"));
  try {
    await withProgress("Building AWS Lambda's runtime client: about a minute, once per machine", () =>
      run("npm", ["install", "--no-audit", "--no-fund", "--foreground-scripts"], {
        cwd: folder,
        env: process.env,
        signal: AbortSignal.timeout(installSeconds * 1000),
      }),
    );
    await access(join(folder, "node_modules", "aws-lambda-ric", "rapid-client.node"));
    await rename(folder, entry);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function reasonOf(error: unknown): string {
  const output = error instanceof CommandError ? error.output.split("\n").slice(-3).join("\n    ") : "";
  return `${error instanceof Error ? error.message : String(error)}${output && `:\n    ${output}`}`;
}
