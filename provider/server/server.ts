import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { ApiChatError } from "../errors/index.js";
import { toNodeListener } from "../responder/node.js";
import { loadConfig, rememberRedactor, type LoadedConfig } from "./config.js";
import type { ServerStatus, WorkspaceStatus } from "./control-client.js";
import { startControl, type ControlActions } from "./control.js";
import { takeDataDir, writeInstance, type Instance } from "./data-dir.js";
import { Forwarder } from "./forward/forwarder.js";
import { refuseLoops } from "./forward/loops.js";
import { listen, type Address } from "./listener.js";
import { createLog, messageOf, openLogFile, writeToStderr, type Log } from "./log.js";
import { hasCode, SPOOL_FILE, warningOfMode } from "../lib/files.js";
import { KeyedQueue } from "../lib/keyed-queue.js";
import type { createRedactor } from "../lib/redact.js";
import { Routes } from "./routes.js";
import { openSpool, type Spool } from "./spool/spool.js";

export interface ServerOptions {
  /** The configuration file; a reload reads it again. */
  configFile: string;
  /** Which start it is: whoever starts it knows it again by this. Default: a new UUID. */
  instance?: string | undefined;
  /** Where the log goes: `responder.log` in the data folder, or stderr. */
  log: "file" | "stderr";
}

const LOG_FILE = "responder.log";
const TOKEN_BYTES = 32;

/** A day, unless the configuration says otherwise. */
const FORWARD_WITHIN_SECONDS = 86_400;

/** The codes of a full disk or a used quota, and how long the announcement waits for room, in milliseconds. */
const FULL_DISK = ["ENOSPC", "EDQUOT"];
const ANNOUNCE_AGAIN_MS = 1_000;

/** Undoes one step of a start. */
type Undo = () => unknown;

/**
 * Starts a responder: it answers the handshakes and takes the deliveries of every workspace of its configuration, and
 * forwards what it has taken. Throws an ApiChatError: `invalid_config` for a wrong configuration, `conflict` if another
 * process has the data folder, `unavailable` if the address cannot be had. Nothing of it is left running then.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const makeRedactor = rememberRedactor();
  const loaded = await loadConfig(options.configFile, makeRedactor);
  const { dataDir } = loaded.config;
  const folder = await takeDataDir(dataDir);
  const undos: Undo[] = [() => folder.release()];
  try {
    const spool = openSpool(join(dataDir, SPOOL_FILE));
    undos.push(() => spool.close());
    const server = new RunningServer(options, { loaded, makeRedactor, spool, undos });
    await server.open();
    return server;
  } catch (error) {
    await undoAll(undos);
    throw error;
  }
}

async function undoAll(undos: Undo[]): Promise<void> {
  for (const undo of undos.splice(0).toReversed()) await undo();
}

/** What a start has opened. */
interface StartedParts {
  loaded: LoadedConfig;
  makeRedactor: typeof createRedactor;
  spool: Spool;
  undos: Undo[];
}

/** A responder that runs. */
export class RunningServer implements ControlActions {
  readonly log: Log;
  readonly #configFile: string;
  readonly #makeRedactor: typeof createRedactor;
  readonly #instance: string;
  readonly #spool: Spool;
  readonly #routes: Routes;
  readonly #forwarder: Forwarder;
  /** The steps of the start that the stop undoes, the last one first. */
  readonly #undos: Undo[];
  /** Reloads and the stop, one after the other. */
  readonly #changes = new KeyedQueue();
  readonly #stopped = Promise.withResolvers<void>();
  /** What is applied now. */
  #loaded: LoadedConfig;
  /** Where it listens; with the real port once it does. */
  #address: Address;
  #isStopping = false;

  constructor(
    { configFile, instance = randomUUID(), log }: ServerOptions,
    { loaded, makeRedactor, spool, undos }: StartedParts,
  ) {
    const { host, port, dataDir } = loaded.config;
    this.#configFile = configFile;
    this.#makeRedactor = makeRedactor;
    this.#instance = instance;
    this.#spool = spool;
    this.#undos = undos;
    this.#loaded = loaded;
    this.#address = { host, port };
    const sink = log === "file" ? openLogFile(join(dataDir, LOG_FILE)) : writeToStderr;
    this.log = createLog(sink, (text) => this.#loaded.redact(text));
    this.#routes = new Routes(spool, this.log);
    this.#forwarder = new Forwarder({ spool, log: this.log });
  }

  /** Resolves when a stop is through; rejects if it has failed. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  /** Listens, announces itself in the data folder, and begins to forward. */
  async open(): Promise<void> {
    const { config } = this.#loaded;
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const control = await startControl({ instance: this.#instance, token, actions: this });
    this.#undos.push(() => control.close());
    const listener = await listen(config, toNodeListener(this.#routes));
    // What is accepted meanwhile waits in the spool for the next start.
    this.#undos.push(() => Promise.all([listener.close(), this.#forwarder.close()]));
    this.#address = { host: listener.host, port: listener.port };
    this.#answerBy(this.#loaded);
    const announced = { instance: this.#instance, pid: process.pid, ...this.#address };
    const startedAt = new Date().toISOString();
    // Before anything is forwarded: a start that fails has changed nothing.
    await this.#announce({ ...announced, controlPort: control.port, token, startedAt });
    this.#forwardBy(this.#loaded);
    this.log.info("started", { ...announced, workspaces: this.#workspaceCount });
    this.#warnOfMode();
    this.#logWarnings();
  }

  status(): ServerStatus {
    return {
      instance: this.#instance,
      pid: process.pid,
      ...this.#address,
      configDigest: this.#loaded.digest,
      workspaces: this.#describeWorkspaces(),
    };
  }

  reload(): Promise<ServerStatus> {
    return this.#changes.run("", async () => {
      try {
        if (this.#isStopping)
          throw new ApiChatError("unavailable", "the responder is stopping", { operation: "responder" });
        const loaded = await loadConfig(this.#configFile, this.#makeRedactor);
        this.#refuseMove(loaded);
        this.#answerBy(loaded);
        this.#forwardBy(loaded);
      } catch (error) {
        this.log.error("not reloaded", { error: messageOf(error) });
        throw error;
      }
      this.log.info("reloaded", { ...this.#address, workspaces: this.#workspaceCount });
      this.#logWarnings();
      return this.status();
    });
  }

  retry(workspace?: string): void {
    this.#forwarder.retry(workspace);
  }

  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const end = async (): Promise<void> => {
      this.log.info("stopping");
      await undoAll(this.#undos);
      this.log.info("stopped");
    };
    this.#changes.run("", end).then(this.#stopped.resolve, this.#stopped.reject);
  }

  /** On a full disk the announcement is written later, once forwarding has made room for it. */
  async #announce(instance: Instance): Promise<void> {
    try {
      await writeInstance(this.#loaded.config.dataDir, instance);
    } catch (error) {
      if (!hasCode(error, ...FULL_DISK)) throw error;
      const message = messageOf(error);
      this.log.limited("error", "not announced", message, { error: message });
      const again = () => this.#changes.run("", () => (this.#isStopping ? undefined : this.#announce(instance)));
      setTimeout(() => void again().catch(() => undefined), ANNOUNCE_AGAIN_MS).unref();
    }
  }

  #answerBy(loaded: LoadedConfig): void {
    refuseLoops(loaded.config, this.#address);
    this.#loaded = loaded;
    this.#routes.configure(loaded.config);
  }

  #forwardBy({ config }: LoadedConfig): void {
    this.#forwarder.follow({
      targets: new Map(
        Object.entries(config.workspaces).flatMap(([name, { forwardTo }]) =>
          forwardTo === undefined ? [] : [[name, forwardTo] as const],
        ),
      ),
      maxAgeMs: (config.forwardWithinSeconds ?? FORWARD_WITHIN_SECONDS) * 1000,
    });
  }

  /** What holds a port and a folder keeps them: another process can take its place, and this one can be started again. */
  #refuseMove({ config: { dataDir, host, port } }: LoadedConfig): void {
    const now = { dataDir: this.#loaded.config.dataDir, ...this.#address };
    // A port that is left free stays the one that it is.
    const problems = Object.entries({ dataDir, host, port: port || now.port }).flatMap(([field, after]) => {
      const before = now[field as keyof typeof now];
      const text = `must stay ${before} while the responder runs, got ${after}`;
      return before === after ? [] : [{ field, text }];
    });
    if (problems.length === 0) return;
    throw new ApiChatError("invalid_config", "", {
      operation: "responder",
      problems,
      hints: [{ id: "restart_responder" }],
    });
  }

  get #workspaceCount(): number {
    return Object.keys(this.#loaded.config.workspaces).length;
  }

  #describeWorkspaces(): Record<string, WorkspaceStatus> {
    const { workspaces } = this.#loaded.config;
    const counts = this.#spool.counts();
    const names = new Set([...Object.keys(workspaces), ...counts.keys()]);
    return Object.fromEntries(
      Array.from(names, (name) => {
        const workspace = workspaces[name];
        const { pending = 0, deadLetters = 0 } = counts.get(name) ?? {};
        const forwards = workspace?.forwardTo !== undefined;
        return [name, { ...(workspace && { path: workspace.path }), forwards, pending, deadLetters }];
      }),
    );
  }

  /** The folder may be a volume that something else has made, so it is left as it is. */
  #warnOfMode(): void {
    const warning = warningOfMode(this.#loaded.config.dataDir, "messages");
    if (warning !== undefined) this.log.warn("configuration", { warning });
  }

  #logWarnings(): void {
    for (const warning of this.#loaded.warnings) this.log.warn("configuration", { warning });
  }
}
