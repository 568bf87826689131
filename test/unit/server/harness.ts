import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll } from "vitest";
import { createDelivery } from "../../../provider/responder/index.js";
import { readInstance, type Instance } from "../../../provider/server/control-client.js";
import { startServer, type RunningServer } from "../../../provider/server/server.js";
import { KEY, makeFolder, writeConfig } from "./folders.js";

export interface TestServer {
  server: RunningServer;
  dataDir: string;
  configFile: string;
  /** Where it listens now. */
  origin: () => string;
  /** Writes another configuration, or a text in its place, which a reload reads. */
  configure: (config: object | string) => Promise<void>;
  /** What it announces. */
  announced: () => Promise<Instance>;
  stop: () => Promise<void>;
}

const running: RunningServer[] = [];
afterAll(async () => {
  for (const server of running) server.stop();
  await Promise.all(running.map((server) => server.stopped));
});

export const ACME = { acme: { verificationKeys: [KEY] } };

/** A responder in this process, stopped after the tests. */
export async function startTestServer(config: object = {}, folder?: string): Promise<TestServer> {
  const home = folder ?? (await makeFolder());
  const configure = (given: object | string): Promise<string> =>
    writeConfig(
      home,
      typeof given === "string" ? given : { port: 0, dataDir: "data", workspaces: ACME, ...given },
    );
  const configFile = await configure(config);
  const dataDir = join(home, "data");
  const server = await startServer({ configFile, instance: "test-instance", log: "file" });
  running.push(server);
  return {
    server,
    dataDir,
    configFile,
    origin: () => `http://127.0.0.1:${server.status().port}`,
    configure: async (given) => void (await configure(given)),
    announced: async () => {
      const instance = await readInstance(dataDir);
      if (instance === undefined) throw new Error("nothing is announced");
      return instance;
    },
    stop: () => {
      server.stop();
      return server.stopped;
    },
  };
}

/** Sends a signed delivery; gives the status of its answer. */
export async function deliver(
  url: string,
  verificationKey = KEY,
  message: Record<string, unknown> = {},
): Promise<number> {
  const response = await fetch(await createDelivery("text", { url, verificationKey, message }));
  await response.arrayBuffer();
  return response.status;
}

/** The text of every file in a folder, by name. */
export async function readFolder(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "latin1")));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""]));
}
