import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { ApiChatError } from "../../errors/index.js";
import type { EmulatorState } from "../emulator-state.js";
import { samples } from "../flows/samples.js";
import { readBody, type EmulatorApp } from "../http-server.js";
import { unacceptable, type ControlCall, type ControlHandler, type ControlRoute } from "./call.js";
import { assertFromHere, PAGE_PATH } from "./guard.js";
import { answerPage, answerText, PAGE_FILES } from "./page.js";
import { answerRefusal, ControlRefusal } from "./refusal.js";
import { deliveryRoutes } from "./routes/deliveries.js";
import { emulatorRoutes } from "./routes/emulator.js";
import { faultRoutes } from "./routes/faults.js";
import { messageRoutes } from "./routes/messages.js";
import { recordRoutes } from "./routes/records.js";
import { workspaceRoutes } from "./routes/workspaces.js";
import { assertAuthorized, exchangeToken } from "./token.js";

const routes: Record<ControlRoute, ControlHandler> = {
  ...emulatorRoutes,
  ...workspaceRoutes,
  ...messageRoutes,
  ...recordRoutes,
  ...deliveryRoutes,
  ...faultRoutes,
};

type ControlContext = Context<{ Bindings: HttpBindings }>;

/** Adds the control API and the page to the port of the registration interface. */
export function addControl(app: EmulatorApp, state: EmulatorState): void {
  app.get("/", (context) => context.redirect(PAGE_PATH));
  app.get("/_emulator", (context) => context.redirect(PAGE_PATH));
  addSamples(app);
  addPage(app, state);
  for (const [path, handlers] of Object.entries(byPath())) {
    app.all(path, (context) => answerSafely(context, state, () => dispatch(context, state, handlers)));
  }
  app.all(`${PAGE_PATH}*`, (context) =>
    answerSafely(context, state, () => {
      throw new ControlRefusal(404, "not_found", "there is no such route; the README lists them");
    }),
  );
}

/** For everyone: whoever gets a reply of the built-in flows loads them. */
function addSamples(app: EmulatorApp): void {
  for (const [path, { contentType, bytes }] of samples) {
    const headers = { "content-type": contentType, "x-content-type-options": "nosniff" };
    app.get(path, () => new Response(Buffer.from(bytes), { headers }));
  }
}

function addPage(app: EmulatorApp, state: EmulatorState): void {
  app.get(PAGE_PATH, async (context) => {
    const incoming = incomingOf(context);
    try {
      assertFromHere(state, incoming);
      const exchanged = exchangeToken(state, incoming);
      if (exchanged !== undefined) return exchanged;
      assertAuthorized(state, incoming);
      return await answerPage("index.html");
    } catch (error) {
      if (error instanceof ControlRefusal) return answerText(error.status, `${error.message}\n`);
      throw error;
    }
  });
  for (const file of PAGE_FILES) {
    app.get(PAGE_PATH + file, (context) => answerSafely(context, state, () => answerPage(file)));
  }
}

/** The handlers of each path, by method, in the way that hono writes parameters. */
function byPath(): Record<string, Map<string, ControlHandler>> {
  const paths: Record<string, Map<string, ControlHandler>> = {};
  for (const [route, handler] of Object.entries(routes)) {
    const [method = "", path = ""] = route.split(" ");
    const handlers = (paths[path.replace(/\{\w+\}/, ":parameter")] ??= new Map());
    handlers.set(method, handler);
  }
  return paths;
}

async function dispatch(
  context: ControlContext,
  state: EmulatorState,
  handlers: Map<string, ControlHandler>,
): Promise<Response> {
  const { method } = context.req;
  const handler = handlers.get(method);
  if (handler === undefined) {
    const allow = [...handlers.keys()].join(", ");
    throw new ControlRefusal(405, "method_not_allowed", `takes ${allow} only`, { allow });
  }
  return handler(await readCall(context, state));
}

async function readCall(context: ControlContext, state: EmulatorState): Promise<ControlCall> {
  const incoming = incomingOf(context);
  const text = await readBody(incoming);
  if (text === undefined) {
    throw new ControlRefusal(413, "too_large", "the body is too large", { connection: "close" });
  }
  if (text !== "") assertJson(incoming);
  const query = new URL(incoming.url ?? "", "http://emulator").searchParams;
  const reveal = readReveal(query);
  const parameter = context.req.param("parameter") ?? "";
  return { state, reveal, parameter, query, text, breakOff: () => void incoming.socket.destroy() };
}

function readReveal(query: URLSearchParams): boolean {
  const given = query.get("reveal") ?? "false";
  if (given !== "true" && given !== "false") throw unacceptable("reveal: must be true or false");
  return given === "true";
}

/** Also because a page from elsewhere can send any other type without asking first. */
function assertJson({ headers }: IncomingMessage): void {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() === "application/json") return;
  throw new ControlRefusal(415, "unsupported_media_type", "send the body as application/json");
}

/** Who may not ask gets no other answer, not even whether there is such a route. */
async function answerSafely(
  context: ControlContext,
  state: EmulatorState,
  answer: () => Response | Promise<Response>,
): Promise<Response> {
  const incoming = incomingOf(context);
  try {
    assertFromHere(state, incoming);
    assertAuthorized(state, incoming);
    return await answer();
  } catch (error) {
    return answerRefusal(toRefusal(error));
  }
}

function toRefusal(error: unknown): ControlRefusal {
  if (error instanceof ControlRefusal) return error;
  if (error instanceof ApiChatError && error.code === "invalid_config") {
    return new ControlRefusal(422, "invalid", error.message);
  }
  const said = error instanceof Error ? error.message : String(error);
  return new ControlRefusal(500, "failed", `the emulator failed: ${said}`);
}

const incomingOf = ({ env }: ControlContext): IncomingMessage => env.incoming;
