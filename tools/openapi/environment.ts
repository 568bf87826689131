import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../engine/cache.ts";
import { compareVersions } from "../engine/engine.ts";
import { withLock } from "../setup/lock.mjs";
import { CommandError, run } from "../setup/run.mjs";
import { withProgress } from "../setup/progress.mjs";
import { runIfDue } from "../setup/stamps.mjs";

/** The oldest that the packages of the tools and the tests run on. */
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
    try {
      const version = await run(command, ["-c", script], { env, signal });
      if (compareVersions(version, oldestPython) >= 0) return { command, version };
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
    }
  }
  return undefined;
}

/**
 * The Python of a virtual environment with the packages of a requirements.txt, whose first one names it. Made once per machine and
 * Python, in the tools' cache, such as `schemathesis-<version>-python<version>`, and again when requirements.txt is another one.
 * Throws with the end of pip's output if it cannot be made.
 */
export async function preparePackages(
  { command, version }: Python,
  requirements: URL,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const requirementsFile = fileURLToPath(requirements);
  const [, name, pinned] = /^([\w-]+)==(.+)$/m.exec(await readFile(requirementsFile, "utf8")) ?? [];
  if (pinned === undefined) throw new Error(`${requirementsFile} pins no package`);
  const folder = join(cacheFolder(env), `${name}-${pinned}-python${version}`);
  const python = join(folder, "bin", "python");
  const step = { stamp: `${folder}.stamp`, inputs: [requirementsFile], outputs: [python] };
  const title = `Installing ${name} with pip: about half a minute, once per machine`;
  await withLock(`${folder}.lock`, signal, () =>
    runIfDue(step, () =>
      withProgress(title, (update) =>
        makeEnvironment({ command, folder, packages: ["-r", requirementsFile], env, signal, update }),
      ),
    ),
  );
  return python;
}

interface EnvironmentOptions {
  /** The Python that makes it. */
  command: string;
  folder: string;
  /** What `pip install` is given. */
  packages: readonly string[];
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
  update: (detail: string) => void;
}

/** Makes a virtual environment with packages. Throws with the end of pip's output if they cannot be installed. */
export async function makeEnvironment(options: EnvironmentOptions): Promise<void> {
  const { command, folder, packages, env, signal, update } = options;
  const pip = ["-m", "pip", "install", "--no-input", "--disable-pip-version-check"];
  const onLine = (line: string): void => update(line.slice(0, 70));
  try {
    await run(command, ["-m", "venv", "--clear", folder], { env, signal });
    await run(join(folder, "bin", "python"), [...pip, ...packages], { env, signal, onLine });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new Error(
      `${packages.join(" ")} could not be installed: ${error.message}\nIs PyPI reachable? ` +
        "pip takes another index from PIP_INDEX_URL.",
      { cause: error },
    );
  }
}
