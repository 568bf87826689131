import { randomUUID } from "node:crypto";
import { sleep } from "../lib/abort.js";
import { entriesInSlices } from "../lib/in-slices.js";
import { SqliteError } from "../lib/sqlite.js";
import {
  type Answer,
  DELIVERY_ID_HEADER,
  type IncomingRequest,
  type Responder,
  UnavailableError,
  createResponder,
} from "../responder/index.js";
import { answerError, pathOf } from "../responder/internal.js";
import { HEALTH_PATH, READY_PATH } from "./addresses.js";
import { type ServerConfig, keysOf } from "./config.js";
import { type Log, messageOfError } from "./log.js";
import type { Metrics } from "./metrics.js";
import type { AcceptedDelivery } from "./spool/database.js";
import type { Spool } from "./spool/spool.js";

export type DeliveryStore = Pick<Spool, "accept" | "check" | "waitForRoom">;

export interface RoutesOptions {
  metrics?: Metrics | undefined;
  /** Logs a line for each verified delivery: with IDs, without content. */
  logDeliveries?: boolean | undefined;
  /** Whether this responder is forwarding a delivery with this ID. */
  isOurs?: (id: string) => boolean;
}

interface WorkspaceRoute {
  workspace: string;
  config: ServerConfig;
  /** Created at the first request. */
  responder?: Promise<Responder>;
}

/** How long a health check result is cached, in milliseconds: the check writes to disk, and anyone can request it. */
const HEALTH_MS = 2_000;

/** How long a health check waits for the disk, in milliseconds. */
const HEALTH_WAIT_MS = 500;

/** `ready` fails if no requests should be sent here, `health` only if a restart would help. */
type Probe = "ready" | "health";

/**
 * Responds on the paths of a configuration. Each workspace's path answers handshakes, and responds 200 to a delivery
 * once it is stored, or 503 if that fails. The ready path responds 200, or 503 while nothing can be stored or the
 * responder drains. The health path responds 200, or 503 if only a restart would help. Every other path responds 404.
 * Looks paths up in a map: a framework's router would need the Fetch API's Request and Response, which the responder
 * does not use.
 */
export class Routes implements Pick<Responder, "answer"> {
  readonly #store: DeliveryStore;
  readonly #log: Log;
  readonly #options: RoutesOptions;
  #places: ReadonlyMap<string, WorkspaceRoute> = new Map();
  #healthPath = HEALTH_PATH;
  readonly #probes = new Map<Probe, { answer: Promise<Answer>; untilMs: number }>();
  #isDraining = false;

  constructor(store: DeliveryStore, log: Log, options: RoutesOptions = {}) {
    this.#store = store;
    this.#log = log;
    this.#options = options;
  }

  /** Switches to this configuration and then resolves; requests in progress finish with the old configuration. */
  async configure(config: ServerConfig): Promise<void> {
    const places = new Map<string, WorkspaceRoute>();
    for await (const [workspace, { path }] of entriesInSlices(config.workspaces))
      places.set(path, { workspace, config });
    this.#healthPath = config.healthPath;
    this.#places = places;
  }

  drain(): void {
    this.#isDraining = true;
  }

  async answer(request: IncomingRequest): Promise<Answer> {
    const path = pathOf(request.url);
    if (path === READY_PATH) return this.#answerProbe(request.method, "ready");
    if (path === this.#healthPath) return this.#answerProbe(request.method, "health");
    const place = this.#places.get(path);
    const answer = place === undefined ? NOT_FOUND : await this.#answerAt(place, request);
    this.#noteRejection(answer, place?.workspace);
    // A 4xx closes the connection. After a 5xx, the sender retries, so its connection stays open.
    if (answer.status < 400 || answer.status >= 500) return answer;
    return { ...answer, headers: { ...answer.headers, connection: "close" } };
  }

  async #answerAt(place: WorkspaceRoute, request: IncomingRequest): Promise<Answer> {
    if (this.#options.isOurs?.(request.header(DELIVERY_ID_HEADER) ?? "")) {
      const { workspace } = place;
      this.#log.limited("error", "forwards to itself", workspace, { workspace });
      return OWN_DELIVERY;
    }
    const responder = await (place.responder ??= this.#createResponder(place));
    await this.#store.waitForRoom();
    return responder.answer(request);
  }

  async #createResponder({ workspace, config }: WorkspaceRoute): Promise<Responder> {
    const { metrics, logDeliveries } = this.#options;
    const { bodyLimitBytes } = config;
    return createResponder({
      verificationKeys: await keysOf(config, workspace),
      ...(bodyLimitBytes !== undefined && { bodyLimitBytes }),
      onHandshake: ({ encoding, keyIndex }) => {
        this.#log.info("handshake", { workspace, encoding, keyIndex });
        metrics?.answeredHandshake(workspace);
      },
      onDelivery: async ({ kind, message, rawBody: body }, { request }) => {
        const startMs = performance.now();
        const headers = [...request.headers()];
        const delivery = {
          id: randomUUID(),
          workspace,
          conversation: conversationOf(message),
          headers,
          body,
        };
        try {
          await this.#store.accept(delivery);
          metrics?.accepted(workspace);
          if (logDeliveries) this.#logDelivery(delivery, { kind, startMs, result: "accepted" });
        } catch (cause) {
          this.#log.limited("error", "not accepted", workspace, { workspace, error: messageOfError(cause) });
          if (logDeliveries) this.#logDelivery(delivery, { kind, startMs, result: "unavailable" });
          throw new UnavailableError("the delivery could not be stored", { cause });
        }
      },
    });
  }

  #logDelivery(
    { id, workspace, conversation = "", body }: AcceptedDelivery,
    { startMs, ...facts }: { startMs: number; kind: string; result: string },
  ): void {
    const ms = Math.round(performance.now() - startMs);
    // A conversation ID that is not a number could contain message text, so it is not logged.
    const ids = { workspace, id, conversation: /^-?\d+$/.test(conversation) ? conversation : undefined };
    this.#log.info("delivery", { ...ids, bytes: body.length, ms, ...facts });
  }

  async #answerProbe(method: string, probe: Probe): Promise<Answer> {
    if (method !== "GET" && method !== "HEAD") return METHOD_NOT_ALLOWED;
    const nowMs = performance.now();
    let checked = this.#probes.get(probe);
    if (checked === undefined || nowMs >= checked.untilMs) {
      checked = { answer: this.#checkStore(probe), untilMs: nowMs + HEALTH_MS };
      this.#probes.set(probe, checked);
    }
    const answer = probe === "ready" && this.#isDraining ? DRAINING : await checked.answer;
    return method === "HEAD" ? { ...answer, body: "" } : answer;
  }

  async #checkStore(probe: Probe): Promise<Answer> {
    try {
      const checked = this.#store.check().then(() => OK);
      // A restart does not make a slow disk faster, so the health check does not wait for it.
      return await (probe === "ready"
        ? checked
        : Promise.race([checked, sleep(HEALTH_WAIT_MS).then(() => OK)]));
    } catch (cause) {
      const error = messageOfError(cause);
      this.#log.limited("error", "not well", error, { error });
      // Healthy unless the disk failed: a restart frees no disk space, and would delay the waiting deliveries.
      const mayPass = cause instanceof SqliteError && cause.code !== "failed";
      return probe === "health" && mayPass ? OK : NOT_STORING;
    }
  }

  #noteRejection({ status, error }: Answer, workspace: string | undefined): void {
    if (error === undefined) return;
    const { code } = error;
    this.#options.metrics?.rejected(workspace, code);
    this.#log.limited("warn", "refused", `${workspace ?? ""} ${code}`, { workspace, status, code });
  }
}

/** How many characters of a `conv_id` are used. Longer IDs that begin alike share one queue, which does no harm. */
const CONVERSATION_CHARACTERS = 100;

/** The conversation's ID, which may be absent in a message that section 2.4 does not define. */
function conversationOf(message: unknown): string | undefined {
  const { conv_id: id } = (message ?? {}) as { conv_id?: unknown };
  const isId = typeof id === "number" || typeof id === "bigint" || typeof id === "string";
  return isId ? String(id).slice(0, CONVERSATION_CHARACTERS) : undefined;
}

const NOT_FOUND = answerError("not_found", "nothing is served here; check the path of the webhook URL");
/** If stored, it would loop forever. It is rejected and retried, so correcting forwardTo in time loses nothing. */
const OWN_DELIVERY = answerError(
  "not_found",
  "this delivery came from this responder itself; set forwardTo to your own program",
);
const METHOD_NOT_ALLOWED = answerError("method_not_allowed", "this path accepts only GET and HEAD", {
  allow: "GET, HEAD",
  connection: "close",
});
const OK: Answer = {
  status: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: JSON.stringify({ status: "ok" }),
};
const NO_STORE = { "cache-control": "no-store" };
const NOT_STORING = answerError("unavailable", "deliveries cannot be stored at the moment", NO_STORE);
const DRAINING = answerError("unavailable", "the responder is about to stop", NO_STORE);
