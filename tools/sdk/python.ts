import { existsSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { cacheEntry, fillEntry } from "../engine/cache.ts";
import type { Engine } from "../engine/engine.ts";
import { findPython, makeEnvironment, oldestPython } from "../openapi/environment.ts";
import { withLock } from "../setup/lock.mjs";
import { withProgress } from "../setup/progress.mjs";
import { generateSdk } from "./generate.ts";

const requirements = new URL("requirements.txt", import.meta.url);

const inputs = [
  requirements,
  new URL("generator/go.mod", import.meta.url),
  new URL("../../provider/plugin/schema.json", import.meta.url),
];

const pythonIn = (folder: string): string => join(folder, "bin", "python");

/** A virtual environment with Pulumi and the SDK as the schema has it now; undefined if `preparePythonSdk` has made none. */
export async function findPythonSdk(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const folder = await cacheEntry(env, "python-sdk", inputs);
  return existsSync(pythonIn(folder)) ? folder : undefined;
}

/** Makes it, once per machine and schema. Without a Python it says so, and there is none. */
export async function preparePythonSdk(engine: Engine, signal: AbortSignal): Promise<void> {
  const { env } = process;
  const entry = await cacheEntry(env, "python-sdk", inputs);
  if (existsSync(pythonIn(entry))) return;
  const python = await findPython(env, signal);
  if (python === undefined) {
    console.error(
      `There is no Python ${oldestPython} or newer with venv and pip on PATH: no test runs programs in Python.`,
    );
    return;
  }
  await withLock(`${entry}.lock`, signal, async () => {
    if (existsSync(pythonIn(entry))) return;
    const title = "Installing Pulumi and the SDK with pip: about half a minute, once per machine and schema";
    await using sdk = await mkdtempDisposable(join(tmpdir(), "apichat-python-sdk-"));
    await generateSdk("python", { engine, signal, into: sdk.path });
    await fillEntry(entry, async (folder) => {
      const packages = ["-r", fileURLToPath(requirements), join(sdk.path, "python")];
      await withProgress(title, (update) =>
        makeEnvironment({ command: python.command, folder, packages, env, signal, update }),
      );
    });
  });
}
