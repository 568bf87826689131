import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { CommandError, run } from "../setup/processes.mjs";
import type { EngineMaker, MakerContext } from "./make.ts";

const idleSeconds = 15;

/** Pulumi's own installer, as the SDK carries it. It needs the internet, and is given up when nothing arrives for 15 seconds. */
export const officialInstaller: EngineMaker = {
  name: "Pulumi's installer, which downloads it",
  source: "installer",
  title: "Installing the Pulumi engine with Pulumi's installer: about a minute, once per machine",
  make: installEngine,
};

async function installEngine(folder: string, context: MakerContext): Promise<void> {
  const temporary = join(folder, "tmp");
  await mkdir(temporary);
  const idle = new AbortController();
  const watch = watchGrowth(folder, (bytes, idleForSeconds) => {
    context.update(`${Math.round(bytes / 1e6)} MB`);
    if (idleForSeconds >= idleSeconds) idle.abort(new Error(`nothing arrived for ${idleSeconds} seconds`));
  });
  try {
    const script = fileURLToPath(new URL("run-installer.ts", import.meta.url));
    await run(process.execPath, [script, folder], {
      env: { ...context.env, TMPDIR: temporary, NODE_USE_ENV_PROXY: "1" },
      signal: AbortSignal.any([context.signal, idle.signal]),
    });
  } catch (error) {
    // The script prints nothing but its reason.
    throw error instanceof CommandError && error.output ? new Error(error.output, { cause: error }) : error;
  } finally {
    clearInterval(watch);
  }
}

/** Reports each second how many bytes the folder holds, and for how long it has not grown. */
function watchGrowth(
  folder: string,
  report: (bytes: number, idleForSeconds: number) => void,
): NodeJS.Timeout {
  let largest = 0;
  let grownAt = Date.now();
  const look = async () => {
    const bytes = await folderSize(folder);
    if (bytes > largest) grownAt = Date.now();
    largest = Math.max(largest, bytes);
    report(bytes, (Date.now() - grownAt) / 1000);
  };
  return setInterval(() => void look(), 1000);
}

async function folderSize(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  // A file may be gone by now: the installer unpacks and removes.
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file)
        .then(({ size }) => size)
        .catch(() => 0),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
