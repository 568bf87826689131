import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { bodyLimit } from "hono/body-limit";
import { getCookie, setCookie } from "hono/cookie";
import { HTTPException } from "hono/http-exception";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ApiChatError } from "../../errors/index.js";
import { Refusal } from "../errors.js";
import { samples } from "../flows/samples.js";
import { isSameKey } from "../service/checks.js";
import { BODY_LIMIT_BYTES } from "../service/http.js";
import type { EmulatorState } from "../state.js";
import { assertFromHere, PAGE_PATH } from "./guard.js";
import { addRecordRoutes } from "./record-routes.js";
import type { ControlApp, ControlContext } from "./requests.js";
import { addRoutes } from "./routes.js";
import { CONTROL_ROUTES, type ControlError } from "./shapes.js";

type Middleware = MiddlewareHandler<{ Bindings: HttpBindings }>;

/**
 * The control API and the page, for the port of the registration interface. Who may not ask gets no other answer, not even
 * whether there is such a route.
 */
export function createControl(
  state: EmulatorState,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  const { settings } = state;
  const app: ControlApp = new Hono();
  app.onError((error, context) => answerError(context, error));
  app.notFound((context) =>
    answerError(context, new Refusal(404, "there is no such route; the docs list them")),
  );
  app.get("/", (context) => context.redirect(PAGE_PATH));
  app.get("/_emulator", (context) => context.redirect(PAGE_PATH));
  addSamples(app);
  app.use(async (context, next) => {
    assertFromHere(settings, context.env.incoming);
    await next();
  });
  if (settings.token !== undefined) addToken(app, settings.token);
  app.get(PAGE_PATH, () => answerPage("index.html"));
  addPageFiles(app);
  app.use(notCached, checkReveal, limitBody, onlyJson);
  addRoutes(app, state);
  addRecordRoutes(app, state);
  refuseOtherMethods(app);
  // Without its own Request and Response in place of the program's.
  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}

/** For everyone: whoever gets a reply of the built-in flows loads them. */
function addSamples(app: ControlApp): void {
  for (const [path, { contentType, bytes }] of samples) {
    const headers = { "content-type": contentType, "x-content-type-options": "nosniff" };
    app.get(path, () => new Response(Buffer.from(bytes), { headers }));
  }
}

/**
 * Refuses who shows neither the token nor the cookie that the page was given for it. The page's address with a right `?token=`
 * gives the cookie and leads to the same address without the token, so that it stays in no history.
 */
function addToken(app: ControlApp, token: string): void {
  // What the browser keeps: not the token itself, and the same after a restart.
  const ticket = createHash("sha256").update(`emulator page\n${token}`).digest("hex");
  const unauthorized = {
    message: (context: Context) => answerError(context, new Refusal(401, TOKEN_NEEDED)),
    wwwAuthenticateHeader: "Bearer",
  };
  const authorize = bearerAuth({
    token,
    noAuthenticationHeader: unauthorized,
    invalidAuthenticationHeader: unauthorized,
    invalidToken: unauthorized,
  });
  app.get(PAGE_PATH, async (context, next) => {
    const given = context.req.query("token");
    if (given === undefined) return next();
    context.header("cache-control", "no-store");
    if (isSameKey(given, token)) {
      setCookie(context, cookieNameOf(context), ticket, {
        path: "/_emulator",
        httpOnly: true,
        sameSite: "Strict",
      });
    }
    return context.redirect(PAGE_PATH, 303);
  });
  app.use(async (context, next) => {
    const shown = getCookie(context, cookieNameOf(context)) ?? "";
    return isSameKey(shown, ticket) ? next() : authorize(context as Context, next);
  });
}

/** Cookies do not tell ports apart. */
const cookieNameOf = ({ env }: ControlContext): string => `apichat_emulator_${env.incoming.socket.localPort}`;

const TOKEN_NEEDED =
  'the token is missing or wrong; send "Authorization: Bearer <token>", or open ' +
  `${PAGE_PATH}?token=<token> in a browser`;

/** Nothing of it is cached: it changes, and may hold secrets. */
const NOT_CACHED = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const notCached: Middleware = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(NOT_CACHED)) context.res.headers.set(name, value);
};

const checkReveal: Middleware = (context, next) => {
  const { reveal = "false" } = context.req.query();
  if (reveal === "true" || reveal === "false") return next();
  throw new Refusal(422, "reveal: must be true or false");
};

const limit = bodyLimit({
  maxSize: BODY_LIMIT_BYTES,
  onError: () => {
    throw new Refusal(413, "the body is too large", { headers: { connection: "close" } });
  },
});

const limitBody: Middleware = (context, next) => {
  // bodyLimit reads a body of unknown length and makes a Request of it again, for which it needs one of Node's own.
  if (context.req.header("content-length") === undefined) context.req.raw = context.req.raw.clone();
  return limit(context, next);
};

/** Also because a page from elsewhere can send any other type without asking first. */
const onlyJson: Middleware = async ({ req }, next) => {
  const [type = ""] = (req.header("content-type") ?? "").split(";");
  const isJson = type.trim().toLowerCase() === "application/json";
  if (!isJson && (await req.text()) !== "") throw new Refusal(415, "send the body as application/json");
  await next();
};

function refuseOtherMethods(app: ControlApp): void {
  const methodsOf = Map.groupBy(CONTROL_ROUTES, (route) => route.split(" ")[1] ?? "");
  for (const [path, routes] of methodsOf) {
    const allow = routes.map((route) => route.split(" ")[0]).join(", ");
    app.all(path.replace(/\{(\w+)\}/, ":$1"), () => {
      throw new Refusal(405, `takes ${allow} only`, { headers: { allow } });
    });
  }
}

const CODES: Record<number, string> = {
  400: "invalid_json",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  413: "too_large",
  415: "unsupported_media_type",
  422: "invalid",
  502: "unavailable",
};

/** The one answer to all that goes wrong: JSON, or on the page's address a text for people. */
function answerError(context: Context, error: Error): Response {
  if (error instanceof HTTPException) return error.getResponse();
  const { httpStatus, message, headers } = toRefusal(error);
  if (context.req.path === PAGE_PATH) return answerText(httpStatus, `${message}\n`);
  const body: ControlError = { error: { code: CODES[httpStatus] ?? "failed", message } };
  return Response.json(body, { status: httpStatus, headers: { ...NOT_CACHED, ...headers } });
}

function toRefusal(error: Error): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof ApiChatError && error.code === "invalid_config")
    return new Refusal(422, error.message);
  return new Refusal(500, `the emulator failed: ${error.message}`);
}

const CONTENT_TYPES = {
  "index.html": "text/html; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
  "favicon.svg": "image/svg+xml",
} as const;

type PageFile = keyof typeof CONTENT_TYPES;

/** Media come from wherever a message says; all else is from here, and no text ever becomes markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src http: https:",
  "media-src http: https:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
};

/** Beside this file's folder in the package; where sources are run, among what was built from them. */
const FOLDERS = ["../page/", "../../../dist/provider/emulator/page/"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

/** Answers with a file of the page; 503 that says what to do if it was not built. */
async function answerPage(file: PageFile): Promise<Response> {
  const folder = await findBuilt();
  if (folder === undefined) return answerText(503, NOT_BUILT);
  const content = await readFile(folder + file);
  return new Response(content, { headers: { ...HEADERS, "content-type": CONTENT_TYPES[file] } });
}

/** The files beside the page's own address. */
function addPageFiles(app: ControlApp): void {
  for (const file of Object.keys(CONTENT_TYPES) as PageFile[]) {
    app.get(PAGE_PATH + file, () => answerPage(file));
  }
}

/** A text in place of the page. */
function answerText(status: number, text: string): Response {
  const headers = { ...HEADERS, "content-type": "text/plain; charset=utf-8" };
  return new Response(text, { status, headers });
}

const NOT_BUILT =
  "The page is not built. In a clone of pulumi-apichat run: npm run build\n" +
  "The control API under /_emulator/ works without it.\n";

/** The sources have an index.html too, but nothing that a browser can run. */
async function findBuilt(): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    try {
      await readFile(`${folder}app.js`);
      return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return undefined;
}
