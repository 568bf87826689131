import { createHash, timingSafeEqual } from "node:crypto";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { ApiChatError } from "../errors/index.js";
import type { ServerStatus, SpoolChanges } from "./control-client.js";
import { CONTROL_HOST, INSTANCE_HEADER, type Instance } from "./data-dir.js";
import { startListener, type Listener } from "./listener.js";
import { messageOfError } from "./log.js";
import type { DeadLetterChoice } from "./spool/file.js";

export interface ControlActions extends SpoolChanges {
  status(): Promise<ServerStatus>;
  /** Reads the configuration file again. Throws `invalid_config` if it is wrong; then nothing has changed. */
  reload(): Promise<void>;
  stop(): void;
}

/** Starts the control interface on any port of this machine: `/status`, `/reload`, `/stop`, `/retry`, `/replay`. */
export function startControl({
  instance,
  token,
  actions,
}: Pick<Instance, "instance" | "token"> & { actions: ControlActions }): Promise<Listener> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const expected = digest(`Bearer ${token}`);
  app.use(async (c, next) => {
    // Each connection is for one request, so that none delays the shutdown.
    c.header("connection", "close");
    c.header(INSTANCE_HEADER, instance);
    // Digests of equal length, so that the comparison takes the same time whatever was sent.
    if (timingSafeEqual(digest(c.req.header("authorization") ?? ""), expected)) return next();
    return c.json({ error: { summary: "the token of instance.json is missing or wrong" } }, 401, {
      "www-authenticate": "Bearer",
    });
  });
  app.get("/status", async (c) => c.json(await actions.status()));
  app.post("/reload", async (c) => {
    await actions.reload();
    return c.json({ status: "reloaded" });
  });
  app.post("/stop", (c) => {
    c.env.outgoing.once("close", () => actions.stop());
    return c.json({ status: "stopping" }, 202);
  });
  app.post("/retry", async (c) => {
    const { workspaces } = await c.req.json<{ workspaces?: string[] }>();
    return c.json(await actions.retry(workspaces));
  });
  app.post("/replay", async (c) => c.json(await actions.replay(await c.req.json<DeadLetterChoice>())));
  app.notFound((c) => c.json({ error: { summary: "nothing is here" } }, 404));
  app.onError((error, c) =>
    error instanceof ApiChatError
      ? c.json({ error: error.toJSON() }, 422)
      : c.json({ error: { summary: messageOfError(error) } }, 500),
  );
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  return startListener({ host: CONTROL_HOST, port: 0 }, (req, res) => void answer(req, res));
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
