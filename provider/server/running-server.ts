import { randomBytes } from "node:crypto";
import { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";
import { loadConfig, type LoadedConfig, type ServerConfig } from "./config.js";
import type { ServerStatus, WorkspaceStatus } from "./control-client.js";
import { startControl, type ControlActions } from "./control.js";
import { refuseLoops } from "./forward-loop.js";
import type { Forwarder } from "./forwarder.js";
import { removeInstance, writeInstance } from "./instance.js";
import type { Address, Listener } from "./listener.js";
import type { Lock } from "./lock.js";
import type { Log } from "./log.js";
import type { RouteMaker, Routes } from "./routes.js";
import type { Spool } from "./spool.js";
import { maxAgeMsOf, targetsOf } from "./targets.js";

/** What is applied now. */
export interface Live {
  loaded: LoadedConfig;
  routes: Routes;
}

/** What a responder is made of. */
export interface ServerParts {
  configFile: string;
  instance: string;
  lock: Lock;
  log: Log;
  spool: Spool;
  forwarder: Forwarder;
  listener: Listener;
  makeRoutes: RouteMaker;
  /** Changed by a reload; the listener answers with what it holds. */
  live: Live;
}

const TOKEN_BYTES = 32;

/** A responder that runs. */
export class RunningServer implements ControlActions {
  readonly #parts: ServerParts;
  readonly #token = randomBytes(TOKEN_BYTES).toString("base64url");
  readonly #startedAt = new Date().toISOString();
  readonly #stopped = Promise.withResolvers<void>();
  /** Reloads and the stop, one after the other. */
  #queue: Promise<unknown> = Promise.resolve();
  #control: Listener | undefined;
  #isStopping = false;

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /** Resolves when a stop is through; rejects if it has failed. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  get log(): Log {
    return this.#parts.log;
  }

  /** Starts the control interface, and announces itself in the data folder. */
  async announce(): Promise<void> {
    const { instance, log, live } = this.#parts;
    const control = await startControl({ instance, token: this.#token, actions: this });
    this.#control = control;
    try {
      await this.#writeInstance();
      log.info("started", {
        instance,
        pid: process.pid,
        ...this.#address(),
        workspaces: countWorkspaces(live),
      });
      this.#warn();
    } catch (error) {
      await control.close();
      throw error;
    }
  }

  status(): ServerStatus {
    const { instance, live } = this.#parts;
    return {
      instance,
      pid: process.pid,
      ...this.#address(),
      configDigest: live.loaded.digest,
      workspaces: this.#describeWorkspaces(),
    };
  }

  reload(): Promise<ServerStatus> {
    return this.#enqueue(async () => {
      const { log, configFile } = this.#parts;
      try {
        if (this.#isStopping) throw failure("unavailable", "the responder is stopping");
        this.#apply(await loadConfig(configFile));
      } catch (error) {
        log.error("not reloaded", { error: error instanceof Error ? error.message : String(error) });
        throw error;
      }
      return this.status();
    });
  }

  wake(workspace?: string): void {
    this.#parts.forwarder.wake(workspace);
  }

  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#enqueue(() => this.#end()).then(this.#stopped.resolve, this.#stopped.reject);
  }

  #apply(loaded: LoadedConfig): void {
    const { listener, forwarder, makeRoutes, live, log } = this.#parts;
    const { config } = loaded;
    refuseMove(config, { ...listener, dataDir: live.loaded.config.dataDir });
    refuseLoops(config, listener);
    Object.assign(live, { loaded, routes: makeRoutes(config) });
    forwarder.setTargets(targetsOf(config), maxAgeMsOf(config));
    log.info("reloaded", { ...this.#address(), workspaces: countWorkspaces(live) });
    this.#warn();
  }

  async #end(): Promise<void> {
    const { listener, forwarder, spool, lock, log, live } = this.#parts;
    log.info("stopping");
    // What is accepted meanwhile waits in the spool for the next start.
    await Promise.all([listener.close(), forwarder.close()]);
    await this.#control?.close();
    spool.close();
    // Last, and the lock right after it: who waits for the end may start another one on the folder.
    await removeInstance(live.loaded.config.dataDir);
    lock.release();
    log.info("stopped");
  }

  /** Where it listens, with the real port. */
  #address(): Address {
    const { host, port } = this.#parts.listener;
    return { host, port };
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  async #writeInstance(): Promise<void> {
    const { instance, live } = this.#parts;
    await writeInstance(live.loaded.config.dataDir, {
      instance,
      pid: process.pid,
      ...this.#address(),
      controlPort: this.#control?.port ?? 0,
      token: this.#token,
      startedAt: this.#startedAt,
    });
  }

  #describeWorkspaces(): Record<string, WorkspaceStatus> {
    const { spool, live } = this.#parts;
    const { workspaces } = live.loaded.config;
    const counts = spool.counts();
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

  #warn(): void {
    const { live, log } = this.#parts;
    for (const warning of live.loaded.warnings) log.warn("configuration", { warning });
  }
}

const countWorkspaces = ({ loaded }: Live): number => Object.keys(loaded.config.workspaces).length;

/** What holds a port and a folder keeps them: another process can take its place, and this one can be started again. */
function refuseMove(
  { dataDir, host, port }: ServerConfig,
  now: Pick<ServerConfig, "dataDir" | "host" | "port">,
): void {
  // A port that is left free stays the one that it is.
  const changed = Object.entries({ dataDir, host, port: port || now.port }).flatMap(([name, after]) => {
    const before = now[name as keyof typeof now];
    return before === after ? [] : [`${name}: must stay ${before} while the responder runs, got ${after}`];
  });
  if (changed.length === 0) return;
  throw failure("invalid_config", `${changed.join("; ")}; stop it, and start it again`);
}

const failure = (code: ApiChatErrorCode, message: string): ApiChatError =>
  new ApiChatError(code, message, { operation: "responder" });
