import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheEntry, fillEntry } from "../engine/cache.ts";
import { compareVersions } from "../engine/engine.ts";
import { withProgress } from "./progress.mjs";
import { CommandError, run } from "./run.ts";

/** The oldest version that the Python packages of the tools and the tests support. */
export const MIN_PYTHON = "3.11";

/** A Python that can create virtual environments. */
export interface Python {
  command: string;
  /** Such as `3.13`. */
  version: string;
}

/** The commands to try, not only `python3`: it is often an old version even if a newer one is installed. */
const commands = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];

/** Prints the version. Also imports `ensurepip`, because Debian lacks it without the package python3-venv. */
const script = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])";

/** Returns the first Python on PATH that is new enough and has venv and pip; undefined if there is none. */
export async function findPython(signal: AbortSignal): Promise<Python | undefined> {
  for (const command of commands) {
    try {
      const version = await run(command, ["-c", script], { signal });
      if (compareVersions(version, MIN_PYTHON) >= 0) return { command, version };
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
    }
  }
  return undefined;
}

/** Returns what {@link findPython} finds. Throws if it finds none. */
export async function requirePython(signal: AbortSignal): Promise<Python> {
  const found = await findPython(signal);
  if (found) return found;
  throw new Error(`there is no Python ${MIN_PYTHON} or newer with venv and pip on PATH`);
}

/**
 * Returns the Python of a virtual environment with the packages of a requirements.txt. The environment is created in
 * the tools' cache, once for each Python version and file content. If that fails, throws an error with pip's output.
 */
export async function preparePackages(
  { command, version }: Python,
  requirements: URL,
  signal: AbortSignal,
): Promise<string> {
  const entry = await cacheEntry(`python${version}`, [requirements]);
  const packages = ["-r", fileURLToPath(requirements)];
  await fillEntry(entry, (folder) => makeEnvironment(command, folder, packages, signal), signal);
  return pythonIn(entry);
}

const pythonIn = (folder: string): string => join(folder, "bin", "python");

/**
 * Creates a virtual environment and installs packages in it with pip, with progress on stderr. If that fails,
 * throws an error with pip's output.
 */
export async function makeEnvironment(
  command: string,
  folder: string,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const title = `Installing ${packages.join(" ")} with pip: about half a minute`;
  const pip = ["-m", "pip", "install", "--no-input", "--disable-pip-version-check", ...packages];
  try {
    await run(command, ["-m", "venv", folder], { signal });
    await withProgress(title, (update) =>
      run(pythonIn(folder), pip, { signal, onLine: (line) => update(line.slice(0, 70)) }),
    );
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new Error(
      `${packages.join(" ")} could not be installed: ${error.message}\nIs PyPI reachable? ` +
        "To use a different index, set PIP_INDEX_URL.",
      { cause: error },
    );
  }
}
