import { randomUUID } from "node:crypto";
import { answerError } from "../responder/answers.js";
import {
  createResponder,
  UnavailableError,
  type Answer,
  type Delivery,
  type IncomingRequest,
  type RequestHead,
  type Responder,
} from "../responder/index.js";
import { pathOf } from "../responder/request.js";
import type { ServerConfig, WorkspaceConfig } from "./config.js";
import { limitRate, type Log } from "./log.js";
import type { AcceptedDelivery } from "./spool-rows.js";
import { HEALTH_PATH } from "./workspace-names.js";

/** What takes verified deliveries. */
export interface DeliveryStore {
  /** Resolves when the delivery is on disk. */
  accept(delivery: AcceptedDelivery): Promise<void>;
  /** Rejects if no delivery could be stored now. */
  check(): Promise<void>;
}

/** What the paths of a configuration answer. */
export type Routes = Pick<Responder, "answer">;

/** Makes routes, out of one configuration after the other. */
export type RouteMaker = (config: ServerConfig) => Routes;

/**
 * Makes what makes the routes: each workspace's path answers handshakes and takes deliveries into the store before it
 * answers 200, or 503 if the store fails; the health path answers 200, or 503 while nothing can be stored; every other one
 * 404. One maker for the life of a server, so that a new configuration does not let refused requests into the log more often.
 */
export function createRouteMaker(store: DeliveryStore, log: Log): RouteMaker {
  const note: Notes = {
    handshake: (workspace, { encoding, keyIndex }) =>
      log.info("handshake", { workspace, encoding, keyIndex }),
    refusal: limitRate((fields) => log.warn("refused", fields)),
    storeFailure: limitRate((fields) => log.error("not accepted", fields)),
  };
  const inspectHealth = createHealth(store, log);
  return (config) => {
    const workspaces = new Map(
      Object.entries(config.workspaces).map(([name, workspace]) => [
        workspace.path,
        { name, responder: createWorkspaceResponder(name, { workspace, config, store, note }) },
      ]),
    );
    const healthPath = config.healthPath ?? HEALTH_PATH;
    return {
      answer: async (request) => {
        const path = pathOf(request.url);
        if (path === healthPath) return answerHealth(request, inspectHealth);
        const found = workspaces.get(path);
        const answer = found === undefined ? NOT_FOUND : await found.responder.answer(request);
        if (answer.status >= 400) noteRefusal(answer, { path, workspace: found?.name, note });
        return answer;
      },
    };
  };
}

interface Notes {
  handshake(workspace: string, handshake: { encoding: string; keyIndex: number }): void;
  refusal: ReturnType<typeof limitRate>;
  storeFailure: ReturnType<typeof limitRate>;
}

interface WorkspaceContext {
  workspace: WorkspaceConfig;
  config: ServerConfig;
  store: DeliveryStore;
  note: Notes;
}

function createWorkspaceResponder(
  name: string,
  { workspace, config, store, note }: WorkspaceContext,
): Routes {
  const { bodyLimitBytes } = config;
  return createResponder({
    verificationKeys: workspace.verificationKeys,
    ...(bodyLimitBytes === undefined ? {} : { bodyLimitBytes }),
    onHandshake: (handshake) => note.handshake(name, handshake),
    onDelivery: async (delivery, { request }) => {
      try {
        await store.accept(toAccepted(name, delivery, request));
      } catch (cause) {
        note.storeFailure(name, { workspace: name, error: describeCause(cause) });
        throw new UnavailableError("the delivery could not be stored", { cause });
      }
    },
  });
}

const describeCause = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

function toAccepted(
  workspace: string,
  { message, rawBody }: Delivery,
  request: RequestHead,
): AcceptedDelivery {
  return {
    id: randomUUID(),
    workspace,
    conversation: conversationOf(message),
    headers: [...request.headers()],
    body: rawBody,
  };
}

/** What is kept of a `conv_id`. Longer ones that begin alike wait for each other, which harms nothing. */
const CONVERSATION_CHARACTERS = 100;

/** The conversation's digits. Of a message that is none of section 2.4 it may be absent. */
function conversationOf(message: unknown): string | undefined {
  const { conv_id: id } = (message ?? {}) as { conv_id?: unknown };
  const isId = typeof id === "number" || typeof id === "bigint" || typeof id === "string";
  return isId ? String(id).slice(0, CONVERSATION_CHARACTERS) : undefined;
}

const NOT_FOUND = answerError("not_found", "nothing is here; look at the path of the webhook URL");
const HEALTHY: Answer = {
  status: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: JSON.stringify({ status: "ok" }),
};

const UNHEALTHY = answerError("unavailable", "deliveries cannot be stored now", {
  "cache-control": "no-store",
});

/** How long the result of one check is given, in milliseconds: it writes to the disk, and anybody may ask. */
const HEALTH_MS = 2_000;

function createHealth(store: DeliveryStore, log: Log): () => Promise<Answer> {
  const note = limitRate((fields) => log.error("not well", fields));
  const check = async (): Promise<Answer> => {
    try {
      await store.check();
      return HEALTHY;
    } catch (cause) {
      const error = describeCause(cause);
      note(error, { error });
      return UNHEALTHY;
    }
  };
  let current: { answer: Promise<Answer>; untilMs: number } | undefined;
  return () => {
    const nowMs = performance.now();
    if (current === undefined || nowMs >= current.untilMs)
      current = { answer: check(), untilMs: nowMs + HEALTH_MS };
    return current.answer;
  };
}

async function answerHealth({ method }: IncomingRequest, inspect: () => Promise<Answer>): Promise<Answer> {
  if (method === "GET") return inspect();
  if (method === "HEAD") return { ...(await inspect()), body: "" };
  return answerError("method_not_allowed", "the health path takes GET only", { allow: "GET, HEAD" });
}

const SHOWN_PATH_CHARACTERS = 200;

function noteRefusal(
  { status, body }: Answer,
  { path, workspace, note }: { path: string; workspace: string | undefined; note: Notes },
): void {
  const { error } = JSON.parse(body) as { error: { code: string } };
  // The path tells a wrong webhook URL; its query is left out.
  const fields = { workspace, path: path.slice(0, SHOWN_PATH_CHARACTERS), status, code: error.code };
  note.refusal(`${workspace ?? ""} ${error.code}`, fields);
}
