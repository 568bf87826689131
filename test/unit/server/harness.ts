import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { makeFolder } from "../../support/folder.ts";
import { createDelivery } from "../../../provider/responder/index.js";
import { readInstance, type Instance } from "../../../provider/server/data-dir.js";
import { findSpool, type SpoolCounts } from "../../../provider/server/spool/file.js";
import { startServer } from "../../../provider/server/server.js";

export const KEY = "verification-key/of+acme=&<é>0123456789";
export const SECOND_KEY = "second-verification-key-0123456789abc";
/** The announcement of a process that no longer exists. */
export const DEAD: Instance = {
  instance: "dead",
  pid: 4711,
  host: "127.0.0.1",
  port: 8080,
  controlPort: 1,
  token: "token",
  isManaged: true,
};
const ACME = { acme: { verificationKeys: [KEY] } };

export { makeFolder };

/** Writes a configuration; a string is written unchanged. */
export async function writeConfig(folder: string, config: unknown, mode = 0o600): Promise<string> {
  const file = join(folder, "config.json");
  await writeFile(file, typeof config === "string" ? config : JSON.stringify(config), { mode });
  return file;
}

/** Starts a responder in this process; stops it after the test. */
export async function startTestServer(config: object = {}) {
  const folder = await makeFolder();
  /** Writes a new configuration for a reload; a string is written unchanged. */
  const configure = (given: object | string): Promise<string> =>
    writeConfig(
      folder,
      typeof given === "string" ? given : { port: 0, dataDir: "data", workspaces: ACME, ...given },
    );
  const configFile = await configure(config);
  const dataDir = join(folder, "data");
  const server = await startServer({ configFile, instance: "test-instance" });
  const stop = (): Promise<void> => {
    server.stop();
    return server.stopped;
  };
  onTestFinished(stop);
  const instance = await readInstance(dataDir);
  if (instance === undefined) throw new Error("nothing is announced");
  return {
    server,
    dataDir,
    configFile,
    configure,
    /** The responder's announcement. */
    instance,
    origin: `http://127.0.0.1:${instance.port}`,
    log: () => readFile(join(dataDir, "responder.log"), "utf8"),
    stop,
  };
}

/** Counts acme's deliveries in a data folder. */
export function countsOf(dataDir: string): SpoolCounts {
  const spool = findSpool(dataDir);
  const counts = spool?.counts().get("acme");
  spool?.close();
  return counts ?? { pending: 0, deadLetters: 0 };
}

/** Sends a signed delivery, and returns the status of the response. */
export async function deliver(url: string, verificationKey = KEY): Promise<number> {
  const response = await fetch(await createDelivery("text", { url, verificationKey }));
  await response.arrayBuffer();
  return response.status;
}
