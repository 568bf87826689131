import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiChatError } from "../errors/index.js";
import { pathOf, queryOf } from "../responder/request.js";
import { CONTROL_HOST, INSTANCE_HEADER, type ServerStatus } from "./control-client.js";
import { listen, type Listener } from "./listener.js";

/** What the control interface can have done. */
export interface ControlActions {
  status(): ServerStatus;
  /** Reads the configuration file again. Throws `invalid_config` if it is wrong; then nothing has changed. */
  reload(): Promise<ServerStatus>;
  /** Begins a graceful stop. */
  stop(): void;
  /** Forwards at once what waits for its next attempt, of one workspace or of every one. */
  wake(workspace?: string): void;
}

export interface ControlOptions {
  /** Names itself in each answer. */
  instance: string;
  /** Who does not show it gets 401. */
  token: string;
  actions: ControlActions;
}

interface ControlAnswer {
  status: number;
  body: object;
  headers?: Record<string, string>;
  /** Done when the answer is with the client. */
  after?: () => void;
}

/** Starts the control interface on any port of this machine: `/status`, `/reload`, `/stop`, `/wake?workspace=`. */
export function startControl({ instance, token, actions }: ControlOptions): Promise<Listener> {
  const tokenDigest = digest(`Bearer ${token}`);
  return listen({ host: CONTROL_HOST, port: 0 }, (req, res) => {
    res.on("error", () => res.destroy());
    void answer(req, { tokenDigest, actions }).then((given) => send(res, instance, given));
  });
}

interface Judge {
  tokenDigest: Buffer;
  actions: ControlActions;
}

async function answer(req: IncomingMessage, { tokenDigest, actions }: Judge): Promise<ControlAnswer> {
  // Digests of equal length, so that the comparison takes the same time whatever was sent.
  if (!timingSafeEqual(digest(req.headers.authorization ?? ""), tokenDigest)) {
    return refuse(401, "the token of instance.json is missing or wrong", { "www-authenticate": "Bearer" });
  }
  const url = req.url ?? "";
  const route = ROUTES[pathOf(url)];
  if (route === undefined) return refuse(404, `nothing is here; there are ${Object.keys(ROUTES).join(", ")}`);
  if (req.method !== route.method) {
    return refuse(405, `takes ${route.method} only`, { allow: route.method });
  }
  try {
    return await route.run(actions, new URLSearchParams(queryOf(url)));
  } catch (error) {
    return describeFailure(error);
  }
}

interface Route {
  method: "GET" | "POST";
  run(actions: ControlActions, query: URLSearchParams): ControlAnswer | Promise<ControlAnswer>;
}

const ROUTES: Partial<Record<string, Route>> = {
  "/status": { method: "GET", run: (actions) => ({ status: 200, body: actions.status() }) },
  "/reload": { method: "POST", run: async (actions) => ({ status: 200, body: await actions.reload() }) },
  "/stop": {
    method: "POST",
    run: (actions) => ({ status: 202, body: { status: "stopping" }, after: () => actions.stop() }),
  },
  "/wake": {
    method: "POST",
    run: (actions, query) => {
      actions.wake(query.get("workspace") ?? undefined);
      return { status: 202, body: { status: "forwarding" } };
    },
  },
};

function describeFailure(error: unknown): ControlAnswer {
  if (!(error instanceof ApiChatError))
    return refuse(500, error instanceof Error ? error.message : String(error));
  const { code, message } = error;
  return { status: 422, body: { error: { code, message } } };
}

const refuse = (status: number, message: string, headers: Record<string, string> = {}): ControlAnswer => ({
  status,
  body: { error: { message } },
  headers,
});

function send(res: ServerResponse, instance: string, { status, body, headers, after }: ControlAnswer): void {
  if (after !== undefined) res.once("close", after);
  const text = JSON.stringify(body);
  res
    .writeHead(status, {
      ...headers,
      [INSTANCE_HEADER]: instance,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      connection: "close",
    })
    .end(text);
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
