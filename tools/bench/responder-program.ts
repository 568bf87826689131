import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { readInstance, type Instance } from "../../dist/provider/server/control-client.js";
import { VERIFICATION_KEY } from "./settings.ts";

const program = fileURLToPath(new URL("../../dist/provider/cli/main.js", import.meta.url));
const START_LIMIT_MS = 20_000;

/** `apichat responder` in a process of its own, with its spool in a temporary folder. */
export interface ResponderProgram {
  /** The webhook URL of its only workspace. */
  url: string;
  /** The folder of the spool. */
  folder: string;
  stop(): Promise<void>;
}

/** Starts the program for one workspace that keeps what arrives. */
export async function startResponderProgram(signal: AbortSignal): Promise<ResponderProgram> {
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-bench-"));
  const dataDir = join(folder, "data");
  const config = {
    port: 0,
    dataDir,
    workspaces: { bench: { verificationKeys: [VERIFICATION_KEY], path: "/" } },
  };
  const configFile = join(folder, "config.json");
  await writeFile(configFile, JSON.stringify(config), { mode: 0o600 });
  const child = execa(process.execPath, [program, "responder", "--config", configFile], {
    reject: false,
    cancelSignal: signal,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const { host, port } = await waitForAnnouncement(dataDir, signal);
    return { url: `http://${host}:${port}/`, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function waitForAnnouncement(dataDir: string, signal: AbortSignal): Promise<Instance> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS)]);
  for (;;) {
    limit.throwIfAborted();
    const instance = await readInstance(dataDir);
    if (instance !== undefined) return instance;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
