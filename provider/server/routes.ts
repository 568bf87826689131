import { randomUUID } from "node:crypto";
import { answerError, UnavailableError } from "../responder/answers.js";
import type { Answer, IncomingRequest } from "../responder/request.js";
import { pathOf } from "../responder/request.js";
import { createResponder, type Responder } from "../responder/responder.js";
import type { ServerConfig } from "./config.js";
import { messageOf, type Log } from "./log.js";
import { HEALTH_PATH } from "../lib/url.js";
import type { Spool } from "./spool/spool.js";

/** Stores verified deliveries. */
export type DeliveryStore = Pick<Spool, "accept" | "check">;

/** The responder for the path of a workspace. */
interface Place {
  workspace: string;
  responder: Responder;
}

/** How long a health check result is cached, in milliseconds: the check writes to disk, and anyone can request it. */
const HEALTH_MS = 2_000;

const SHOWN_PATH_CHARACTERS = 200;

/**
 * Responds on the paths of a configuration. Each workspace's path answers handshakes, and stores deliveries before it
 * responds 200, or 503 if the store fails. The health path responds 200, or 503 while nothing can be stored; every other
 * path 404. A map, not a framework's router: the responder needs no Request or Response.
 */
export class Routes implements Pick<Responder, "answer"> {
  readonly #store: DeliveryStore;
  readonly #log: Log;
  #places: ReadonlyMap<string, Place> = new Map();
  #healthPath = HEALTH_PATH;
  #health: { answer: Promise<Answer>; untilMs: number } | undefined;

  constructor(store: DeliveryStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Switches to this configuration; requests in progress finish with the old one. */
  configure(config: ServerConfig): void {
    this.#healthPath = config.healthPath;
    this.#places = new Map(
      Object.entries(config.workspaces).map(([workspace, { path, verificationKeys }]) => [
        path,
        { workspace, responder: this.#createResponder(workspace, verificationKeys, config.bodyLimitBytes) },
      ]),
    );
  }

  async answer(request: IncomingRequest): Promise<Answer> {
    const path = pathOf(request.url);
    if (path === this.#healthPath) return this.#answerHealth(request.method);
    const place = this.#places.get(path);
    const answer = place === undefined ? NOT_FOUND : await place.responder.answer(request);
    if (answer.status >= 400) this.#logRefusal(answer, path, place?.workspace);
    return isRejection(answer) ? { ...answer, headers: { ...answer.headers, connection: "close" } } : answer;
  }

  #createResponder(workspace: string, verificationKeys: string[], bodyLimitBytes?: number): Responder {
    return createResponder({
      verificationKeys,
      ...(bodyLimitBytes !== undefined && { bodyLimitBytes }),
      onHandshake: ({ encoding, keyIndex }) => this.#log.info("handshake", { workspace, encoding, keyIndex }),
      onDelivery: async ({ message, rawBody }, { request }) => {
        const headers = [...request.headers()];
        const conversation = conversationOf(message);
        try {
          await this.#store.accept({ id: randomUUID(), workspace, conversation, headers, body: rawBody });
        } catch (cause) {
          this.#log.limited("error", "not accepted", workspace, { workspace, error: messageOf(cause) });
          throw new UnavailableError("the delivery could not be stored", { cause });
        }
      },
    });
  }

  async #answerHealth(method: string): Promise<Answer> {
    if (method !== "GET" && method !== "HEAD") return METHOD_NOT_ALLOWED;
    const nowMs = performance.now();
    if (this.#health === undefined || nowMs >= this.#health.untilMs)
      this.#health = { answer: this.#checkHealth(), untilMs: nowMs + HEALTH_MS };
    const answer = await this.#health.answer;
    return method === "HEAD" ? { ...answer, body: "" } : answer;
  }

  async #checkHealth(): Promise<Answer> {
    try {
      await this.#store.check();
      return HEALTHY;
    } catch (cause) {
      const error = messageOf(cause);
      this.#log.limited("error", "not well", error, { error });
      return UNHEALTHY;
    }
  }

  #logRefusal({ status, body }: Answer, path: string, workspace: string | undefined): void {
    const { code } = (JSON.parse(body) as { error: { code: string } }).error;
    // The path shows a wrong webhook URL; its query is left out.
    const fields = { workspace, path: path.slice(0, SHOWN_PATH_CHARACTERS), status, code };
    this.#log.limited("warn", "refused", `${workspace ?? ""} ${code}`, fields);
  }
}

/** Whether to close the connection after a response. A sender that is asked to retry (503) keeps it. */
const isRejection = ({ status }: Answer): boolean => status >= 400 && status < 500;

/** How much of a `conv_id` is used. Longer IDs with the same beginning share one queue, which does no harm. */
const CONVERSATION_CHARACTERS = 100;

/** The conversation's digits. Of a message that is none of section 2.4 it may be absent. */
function conversationOf(message: unknown): string | undefined {
  const { conv_id: id } = (message ?? {}) as { conv_id?: unknown };
  const isId = typeof id === "number" || typeof id === "bigint" || typeof id === "string";
  return isId ? String(id).slice(0, CONVERSATION_CHARACTERS) : undefined;
}

const NOT_FOUND = answerError("not_found", "nothing is here; look at the path of the webhook URL");
const METHOD_NOT_ALLOWED = answerError("method_not_allowed", "the health path accepts only GET and HEAD", {
  allow: "GET, HEAD",
  connection: "close",
});
const HEALTHY: Answer = {
  status: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: JSON.stringify({ status: "ok" }),
};
const UNHEALTHY = answerError("unavailable", "deliveries cannot be stored now", {
  "cache-control": "no-store",
});
