import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { ApiChatError, invalidFields } from "../errors/index.js";
import { hasErrorCode, warningOfMode } from "../lib/files.js";
import { inSlices } from "../lib/in-slices.js";
import { KeyedQueue } from "../lib/keyed-queue.js";
import { toNodeListener } from "../responder/node.js";
import { DEFAULT_HOST } from "./addresses.js";
import { type LoadedConfig, type ServerConfig, loadConfig } from "./config.js";
import { type ControlActions, startControl } from "./control.js";
import { type Instance, readInstance, takeDataDir, writeInstance } from "./data-dir.js";
import { Forwarder } from "./forwarder.js";
import { type ListenAddress, startListener } from "./listener.js";
import { type Log, createLog, messageOfError, openLogFile } from "./log.js";
import { Routes } from "./routes.js";
import { openSpool } from "./spool/spool.js";

export interface ServerOptions {
  /** The configuration file; a reload or SIGHUP reads it again. */
  configFile: string;
  /** The caller's ID for this start. If set, logs go to `responder.log` in the data folder, else to stderr. */
  instance?: string | undefined;
  /** Serves metrics for Prometheus on this port. Needs the optional peer prom-client. Default: no metrics. */
  metricsPort?: number | undefined;
  /** The address to serve the metrics on. Default: this machine only. */
  metricsHost?: string | undefined;
  logDeliveries?: boolean | undefined;
}

export interface RunningServer extends ControlActions {
  readonly log: Log;
  drain(): void;
  /** Resolves when the server has stopped; rejects if that failed, or if it stopped because its folder is gone. */
  readonly stopped: Promise<void>;
}

const LOG_FILE = "responder.log";
const TOKEN_BYTES = 32;

/** The error codes of a full disk or an exhausted quota. */
const FULL_DISK = ["ENOSPC", "EDQUOT"];

/** The pause between attempts to write `instance.json` to a full disk, in milliseconds. */
const ANNOUNCE_AGAIN_MS = 1_000;

/** How often a responder checks that its folder's `instance.json` is still its own, in milliseconds. */
const CHECK_FOLDER_EVERY_MS = 1_000;

const writeToStderr = (line: string): void => void process.stderr.write(line);

type Undo = () => unknown;

/**
 * Throws an ApiChatError: `invalid_config` for a wrong configuration, `conflict` if another process holds
 * the data folder, `unavailable` if the address is not available. After an error, nothing is left running.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const undos: Undo[] = [];
  try {
    return await start(options, undos);
  } catch (error) {
    await undoAll(undos);
    throw error;
  }
}

async function undoAll(undos: Undo[]): Promise<void> {
  for (const undo of undos.splice(0).toReversed()) await undo();
}

/** For each step, adds the function that undoes it to `undos`; a stop calls these functions in reverse order. */
async function start(options: ServerOptions, undos: Undo[]): Promise<RunningServer> {
  const { configFile, instance = randomUUID(), metricsPort, metricsHost, logDeliveries } = options;
  const loaded = await loadConfig(configFile);
  const { dataDir, host, port } = loaded.config;
  const lock = await takeDataDir(dataDir);
  let isStopping = false;
  undos.push(() => {
    // Once the lock is released, a waiting caller may remove the folder: write nothing there afterwards.
    if (isStopping) log.info("stopped");
    lock.release();
  });
  const spool = await openSpool(dataDir);
  undos.push(() => spool.close());
  const isManaged = options.instance !== undefined;
  const log = createLog(isManaged ? openLogFile(join(dataDir, LOG_FILE)) : writeToStderr);
  // Loaded here, because most responders serve no metrics.
  const { createMetrics } = metricsPort === undefined ? {} : await import("./metrics.js");
  const metrics = createMetrics?.(dataDir, spool);
  const forwarder = new Forwarder({ spool, log, metrics });
  const isOurs = (id: string): boolean => forwarder.isSending(id);
  const routes = new Routes(spool, log, { metrics, logDeliveries, isOurs });
  /** The address to listen on; it holds the real port as soon as the server listens. */
  let address: ListenAddress = { host, port };
  const changes = new KeyedQueue();
  const stopped = Promise.withResolvers<void>();

  const answerBy = async ({ config }: LoadedConfig): Promise<void> => {
    metrics?.follow(Object.keys(config.workspaces));
    await routes.configure(config);
  };

  const forwardBy = async ({ config, warnings }: LoadedConfig, event: string): Promise<void> => {
    forwarder.follow(config);
    const workspaces = Object.keys(config.workspaces).length;
    log.info(event, { instance, pid: process.pid, ...address, workspaces });
    for await (const warning of inSlices(warnings)) log.warn("configuration", { warning });
  };

  const stop = (reason?: ApiChatError): void => {
    if (isStopping) return;
    isStopping = true;
    routes.drain();
    const ended = changes.run("config", async () => {
      log.info("stopping");
      await undoAll(undos);
      if (reason) throw reason;
    });
    ended.then(stopped.resolve, stopped.reject);
  };

  const server: RunningServer = {
    log,
    stopped: stopped.promise,
    reload: () =>
      changes.run("config", async () => {
        try {
          if (isStopping)
            throw new ApiChatError("unavailable", "the responder is stopping", { operation: "responder" });
          const next = await loadConfig(configFile);
          rejectMove({ dataDir, ...address }, next.config);
          await answerBy(next);
          await forwardBy(next, "reloaded");
        } catch (error) {
          log.error("not reloaded", { error: messageOfError(error) });
          throw error;
        }
      }),
    retry: (workspaces) => spool.ask("retryWaiting", workspaces),
    replay: (choice) => spool.replay(choice),
    drain: () => {
      log.info("draining");
      routes.drain();
    },
    stop: () => stop(),
  };

  /** Stops if the folder was removed or names another process, because nothing can then find this process. */
  const checkFolder = async (): Promise<void> => {
    if ((await readInstance(dataDir))?.instance === instance) return;
    const text = `the data folder ${dataDir} was removed or replaced while the responder ran`;
    stop(new ApiChatError("unavailable", text, { operation: "responder" }));
  };

  // A folder that cannot be read is checked again later.
  const report = (error: unknown): void =>
    log.limited("error", "not checked", dataDir, { error: messageOfError(error) });

  /** Writes the announcement. If the disk is full, tries again until forwarding has made room. */
  const announce = async (announcement: Instance): Promise<void> => {
    try {
      await writeInstance(dataDir, announcement);
      const timer = setInterval(() => void checkFolder().catch(report), CHECK_FOLDER_EVERY_MS);
      undos.push(() => clearInterval(timer));
    } catch (error) {
      if (!hasErrorCode(error, ...FULL_DISK)) throw error;
      const message = messageOfError(error);
      log.limited("error", "not announced", message, { error: message });
      const again = () => changes.run("config", () => (isStopping ? undefined : announce(announcement)));
      setTimeout(() => void again().catch(() => undefined), ANNOUNCE_AGAIN_MS).unref();
    }
  };

  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const control = await startControl({ instance, token, actions: server });
  undos.push(() => control.close());
  // Not `??`: an empty host also becomes the default, because it would mean every address.
  const scraped = await metrics?.serve({ host: metricsHost || DEFAULT_HOST, port: metricsPort ?? 0 });
  undos.push(() => scraped?.close());
  const listener = await startListener(address, toNodeListener(routes));
  // Deliveries that are accepted during the shutdown stay in the spool until the next start.
  undos.push(() => Promise.all([listener.close(), forwarder.close()]));
  address = { host: listener.host, port: listener.port };
  await answerBy(loaded);
  // Announce before anything is forwarded, so that a start that cannot announce itself changes nothing.
  await announce({ instance, pid: process.pid, ...address, controlPort: control.port, token, isManaged });
  await forwardBy(loaded, "started");
  if (scraped !== undefined) log.info("metrics", { host: scraped.host, port: scraped.port });
  // The folder may be a volume that something else created, so its mode is not changed.
  const warning = warningOfMode(dataDir, "messages");
  if (warning !== undefined) log.warn("configuration", { warning });
  return server;
}

function rejectMove(now: ListenAddress & { dataDir: string }, { dataDir, host, port }: ServerConfig): void {
  // Port 0 in the configuration keeps the port that was chosen at the start.
  const next = { dataDir, host, port: port || now.port };
  const problems = (["dataDir", "host", "port"] as const)
    .filter((field) => now[field] !== next[field])
    .map((field) => ({
      field,
      text: `must stay ${now[field]} while the responder runs, got ${next[field]}`,
    }));
  if (problems.length === 0) return;
  throw invalidFields(problems, { operation: "responder", hints: [{ id: "restart_responder" }] });
}
