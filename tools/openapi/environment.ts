import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../engine/cache.ts";
import { compareVersions } from "../engine/engine.ts";
import { withLock } from "../setup/lock.mjs";
import { CommandError, run } from "../setup/run.mjs";
import { withProgress } from "../setup/progress.mjs";

const requirementsFile = new URL("requirements.txt", import.meta.url);

/** The oldest that the packages in requirements.txt run on. */
export const oldestPython = "3.11";

/** A Python that can make virtual environments. */
export interface Python {
  command: string;
  /** Such as `3.13`. */
  version: string;
}

/** `python3` is often the system's own and old, while a newer one stands beside it. */
const commands = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];

/** On Debian `ensurepip` is what is missing without the package python3-venv. */
const script = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])";

/** The first Python on PATH that is new enough and has venv and pip; undefined if there is none. */
export async function findPython(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Python | undefined> {
  for (const command of commands) {
    const version = await askVersion(command, env, signal);
    if (version !== undefined && compareVersions(version, oldestPython) >= 0) return { command, version };
  }
  return undefined;
}

async function askVersion(
  command: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await run(command, ["-c", script], { env, signal });
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

/**
 * The Python of a virtual environment with schemathesis in it. Made once per machine, in the tools' cache as
 * `schemathesis-<version>`, and again when requirements.txt or the Python is another one. Throws with the end of pip's
 * output if it cannot be made.
 */
export async function prepareSchemathesis(
  python: Python,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const requirements = await readFile(requirementsFile, "utf8");
  const version = /^schemathesis==(.+)$/m.exec(requirements)?.[1];
  if (version === undefined) throw new Error("tools/openapi/requirements.txt pins no schemathesis");
  const folder = join(cacheFolder(env), `schemathesis-${version}`);
  const inputs = `Python ${python.version}\n${requirements}`;
  await withLock(`${folder}.lock`, signal, async () => {
    if (await isWhole(folder, inputs)) return;
    await install(folder, python, env, signal);
    await writeFile(stampOf(folder), inputs);
  });
  return pythonOf(folder);
}

/** Written last: an environment whose making was broken off has none. */
function stampOf(folder: string): string {
  return join(folder, "made-from.txt");
}

function pythonOf(folder: string): string {
  return join(folder, "bin", "python");
}

async function isWhole(folder: string, inputs: string): Promise<boolean> {
  try {
    return (await readFile(stampOf(folder), "utf8")) === inputs;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

async function install(
  folder: string,
  python: Python,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const title = "Installing schemathesis with pip: about half a minute, once per machine";
  await withProgress(title, async (update) => {
    try {
      await run(python.command, ["-m", "venv", folder], { env, signal });
      const pip = ["-m", "pip", "install", "--no-input", "--disable-pip-version-check"];
      await run(pythonOf(folder), [...pip, "-r", fileURLToPath(requirementsFile)], {
        env,
        signal,
        onLine: (line) => update(line.slice(0, 70)),
      });
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      throw new Error(
        `schemathesis could not be installed: ${error.message}\n${error.output}\nIs PyPI reachable? ` +
          "pip takes another index from PIP_INDEX_URL.",
        { cause: error },
      );
    }
  });
}
