import { createHash, timingSafeEqual } from "node:crypto";
import { ApiChatError } from "../errors/index.js";
import type { IncomingRequest } from "../responder/index.js";
import { pathOf } from "../responder/internal.js";
import { toNodeListener } from "../responder/node.js";
import type { SpoolChanges } from "./control-client.js";
import { CONTROL_HOST, INSTANCE_HEADER, type Instance } from "./data-dir.js";
import { startListener, type Listener } from "./listener.js";
import { messageOfError } from "./log.js";
import type { DeadLetterChoice } from "./spool/file.js";

export interface ControlActions extends SpoolChanges {
  /** Reads the configuration file again. Throws `invalid_config` if it is wrong; then nothing has changed. */
  reload(): Promise<void>;
  stop(): void;
}

/** Large enough for the IDs of all dead letters. */
const BODY_LIMIT_BYTES = 64 * 1024 * 1024;

/** Starts the control interface on a free port of this machine. Each action is a POST with its parameters as JSON. */
export function startControl({
  instance,
  token,
  actions,
}: Pick<Instance, "instance" | "token"> & { actions: ControlActions }): Promise<Listener> {
  const calls = new Map<string, (given: DeadLetterChoice & { workspaces?: string[] }) => unknown>([
    ["POST /ping", () => undefined],
    ["POST /reload", () => actions.reload()],
    ["POST /stop", () => actions.stop()],
    ["POST /retry", ({ workspaces }) => actions.retry(workspaces)],
    ["POST /replay", (choice) => actions.replay(choice)],
  ]);
  const expected = digest(`Bearer ${token}`);
  const run = async (request: IncomingRequest): Promise<[status: number, body: object]> => {
    // Digests have equal length, so the comparison takes the same time whatever was sent.
    if (!timingSafeEqual(digest(request.header("authorization") ?? ""), expected))
      return [401, { error: { summary: "the token of instance.json is missing or wrong" } }];
    const call = calls.get(`${request.method} ${pathOf(request.url)}`);
    if (call === undefined) return [404, { error: { summary: "there is no such action" } }];
    try {
      const body = await request.readBody(BODY_LIMIT_BYTES);
      const given: unknown = JSON.parse(typeof body === "string" ? "" : new TextDecoder().decode(body));
      return [200, { value: await call(given as DeadLetterChoice) }];
    } catch (error) {
      return error instanceof ApiChatError
        ? [422, { error: error.toJSON() }]
        : [500, { error: { summary: messageOfError(error) } }];
    }
  };
  const answer = async (request: IncomingRequest) => {
    const [status, body] = await run(request);
    // Each connection serves only one request, so that no idle connection delays the shutdown.
    const headers = { "content-type": "application/json", connection: "close", [INSTANCE_HEADER]: instance };
    return { status, headers, body: JSON.stringify(body) };
  };
  return startListener({ host: CONTROL_HOST, port: 0 }, toNodeListener({ answer }));
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
