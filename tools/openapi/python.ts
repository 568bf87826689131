import { CommandError, run } from "../setup/run.mjs";

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
    if (version !== undefined && isNewEnough(version)) return { command, version };
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

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldestPython.split(".").map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
