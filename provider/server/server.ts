import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Redact } from "../lib/redact.js";
import { toNodeListener } from "../responder/node.js";
import { loadConfig, type LoadedConfig } from "./config.js";
import { refuseLoops } from "./forward-loop.js";
import { startForwarder } from "./forwarder.js";
import { makeDataDir, removeInstance } from "./instance.js";
import { listen } from "./listener.js";
import { lockDataDir } from "./lock.js";
import { createLog, openLogFile, writeToStderr, type Log } from "./log.js";
import { createRouteMaker, type Routes } from "./routes.js";
import { RunningServer, type Live } from "./running-server.js";
import { openSpool } from "./spool.js";
import { SPOOL_FILE } from "./spool-file.js";
import { maxAgeMsOf, targetsOf } from "./targets.js";

export type { RunningServer } from "./running-server.js";

export interface ServerOptions {
  /** The configuration file; a reload reads it again. */
  configFile: string;
  /** Which start it is: whoever starts it knows it again by this. Default: a new UUID. */
  instance?: string | undefined;
  /** Where the log goes: `responder.log` in the data folder, or stderr. */
  log: "file" | "stderr";
}

const LOG_FILE = "responder.log";

/** Undoes one step of a start. */
type Undo = () => unknown;

/**
 * Starts a responder: it answers the handshakes and takes the deliveries of every workspace of its configuration, and
 * forwards what it has taken. Throws an ApiChatError: `invalid_config` for a wrong configuration, `conflict` if another
 * process has the data folder, `unavailable` if the address cannot be had. Nothing of it is left running then.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const loaded = await loadConfig(options.configFile);
  const undos: Undo[] = [];
  try {
    const server = await openServer(options, loaded, undos);
    await server.announce();
    return server;
  } catch (error) {
    for (const undo of undos.toReversed()) await undo();
    throw error;
  }
}

async function openServer(
  { configFile, instance = randomUUID(), log: place }: ServerOptions,
  loaded: LoadedConfig,
  undos: Undo[],
): Promise<RunningServer> {
  const { config } = loaded;
  await makeDataDir(config.dataDir);
  const lock = await lockDataDir(config.dataDir);
  undos.push(() => lock.release());
  // With the lock in hand, whoever is announced there is dead.
  await removeInstance(config.dataDir);

  const applied = { loaded };
  const log = openLog(place, config.dataDir, (text) => applied.loaded.redact(text));
  await warnOfMode(config.dataDir, log);
  const spool = openSpool(join(config.dataDir, SPOOL_FILE));
  undos.push(() => spool.close());
  const makeRoutes = createRouteMaker(spool, log);
  const live: Live = Object.assign(applied, { routes: makeRoutes(config) });
  const answer: Routes["answer"] = (request) => live.routes.answer(request);
  const listener = await listen(config, toNodeListener({ answer }));
  undos.push(() => listener.close());
  refuseLoops(config, listener);
  const forwarder = startForwarder({ spool, log, targets: targetsOf(config), maxAgeMs: maxAgeMsOf(config) });
  undos.push(() => forwarder.close());
  return new RunningServer({ configFile, instance, lock, log, spool, listener, forwarder, makeRoutes, live });
}

/** The folder may be a volume that something else has made, so it is left as it is. */
async function warnOfMode(dataDir: string, log: Log): Promise<void> {
  const { mode } = await stat(dataDir);
  if ((mode & 0o077) === 0) return;
  const warning = `dataDir: ${dataDir} can be opened by other users of this machine: chmod 700 ${dataDir}`;
  log.warn("configuration", { warning });
}

function openLog(place: ServerOptions["log"], dataDir: string, redact: Redact): Log {
  return createLog(place === "file" ? openLogFile(join(dataDir, LOG_FILE)) : writeToStderr, redact);
}
