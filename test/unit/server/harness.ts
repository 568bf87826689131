import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterTests } from "../../support/http.ts";
import { createDelivery } from "../../../provider/responder/index.js";
import { readInstance, type Instance } from "../../../provider/server/data-dir.js";
import { startServer, type RunningServer } from "../../../provider/server/server.js";

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

const folders: string[] = [];
const running: RunningServer[] = [];
const endAll = async (): Promise<void> => {
  const servers = running.splice(0);
  for (const server of servers) server.stop();
  await Promise.all(servers.map((server) => server.stopped));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
};

/** Creates a folder for its owner only, removed after the tests. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-server-"));
  // Registered once: a second hook would remove folders while the first one still stops servers in them.
  if (folders.push(folder) === 1) afterTests(endAll);
  return folder;
}

/** Writes a configuration; a string is written unchanged. */
export async function writeConfig(folder: string, config: unknown, mode = 0o600): Promise<string> {
  const file = join(folder, "config.json");
  await writeFile(file, typeof config === "string" ? config : JSON.stringify(config), { mode });
  return file;
}

/** Starts a responder in this process, stopped after the tests. */
export async function startTestServer(config: object = {}, home?: string) {
  const folder = home ?? (await makeFolder());
  /** Writes a new configuration, or a string instead, for a reload. */
  const configure = (given: object | string): Promise<string> =>
    writeConfig(
      folder,
      typeof given === "string" ? given : { port: 0, dataDir: "data", workspaces: ACME, ...given },
    );
  const configFile = await configure(config);
  const dataDir = join(folder, "data");
  const server = await startServer({ configFile, instance: "test-instance" });
  running.push(server);
  const { port } = await server.status();
  return {
    server,
    dataDir,
    configFile,
    configure,
    /** Its current address. */
    origin: () => `http://127.0.0.1:${port}`,
    announced: async () => {
      const instance = await readInstance(dataDir);
      if (instance === undefined) throw new Error("nothing is announced");
      return instance;
    },
    log: () => readFile(join(dataDir, "responder.log"), "utf8"),
    stop: () => {
      server.stop();
      return server.stopped;
    },
  };
}

/** Sends a signed delivery, and returns the status of the response. */
export async function deliver(
  url: string,
  verificationKey = KEY,
  message: Record<string, unknown> = {},
): Promise<number> {
  const response = await fetch(await createDelivery("text", { url, verificationKey, message }));
  await response.arrayBuffer();
  return response.status;
}
