import { existsSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheEntry, fillEntry } from "../engine/cache.ts";
import type { Engine } from "../engine/engine.ts";
import { findPython, makeEnvironment, MIN_PYTHON } from "../lib/python.ts";
import { generateSdk } from "./generate.ts";

const requirements = new URL("requirements.txt", import.meta.url);

/** Returns the cache entry of the virtual environment with Pulumi and the SDK of the current schema. */
const findEntry = (): Promise<string> =>
  cacheEntry("python-sdk", [
    requirements,
    new URL("generator/go.mod", import.meta.url),
    new URL("generate.ts", import.meta.url),
    new URL("pulumi_apichat_command.py", import.meta.url),
    new URL("../../provider/plugin/schema.json", import.meta.url),
  ]);

/** Returns that environment, or undefined if `preparePythonSdk` has not created it. */
export async function findPythonSdk(): Promise<string | undefined> {
  const folder = await findEntry();
  return existsSync(folder) ? folder : undefined;
}

/** Creates the environment, once per machine and schema. Without a Python, only prints that there is none. */
export async function preparePythonSdk(engine: Engine, signal: AbortSignal): Promise<void> {
  if (await findPythonSdk()) return;
  const python = await findPython(signal);
  if (python === undefined) {
    const missing = `There is no Python ${MIN_PYTHON} or newer with venv and pip on PATH`;
    return console.error(`${missing}: no test runs programs in Python.`);
  }
  const make = async (folder: string): Promise<void> => {
    await using sdk = await mkdtempDisposable(join(tmpdir(), "apichat-python-sdk-"));
    await generateSdk("python", { engine, signal, into: sdk.path });
    const packages = ["-r", fileURLToPath(requirements), join(sdk.path, "python")];
    await makeEnvironment(python.command, folder, packages, signal);
  };
  await fillEntry(await findEntry(), make, signal);
}
