import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { getCookie, setCookie } from "hono/cookie";
import { HTTPException } from "hono/http-exception";
import { ApiChatError } from "../../errors/index.js";
import { HttpError } from "../errors.js";
import { samples } from "../flows/samples.js";
import { isSameKey } from "../service/checks.js";
import type { EmulatorState } from "../state.js";
import { createApi, NOT_CACHED } from "./api.js";
import { assertSameOrigin, PAGE_PATH } from "./guard.js";
import type { ControlError } from "./shapes.js";

type App = Hono<{ Bindings: HttpBindings }>;

/**
 * The control API and the page, for the port of the registration interface. An unauthorized caller learns nothing else, not even
 * whether a route exists.
 */
export function createControl(
  state: EmulatorState,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  const { settings } = state;
  const app: App = new Hono();
  app.onError((error, context) => answerError(context, error));
  app.notFound((context) =>
    answerError(context, new HttpError(404, "there is no such route; the docs list them")),
  );
  app.get("/", (context) => context.redirect(PAGE_PATH));
  app.get("/_emulator", (context) => context.redirect(PAGE_PATH));
  addSamples(app);
  app.use(async (context, next) => {
    assertSameOrigin(settings, context.env.incoming);
    await next();
  });
  if (settings.token !== undefined) addToken(app, settings.token);
  addPage(app);
  app.route("/_emulator", createApi(state));
  // Without its own Request and Response in place of the program's.
  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}

/** For everyone: whoever gets a reply of the built-in flows loads them. */
function addSamples(app: App): void {
  for (const [path, { contentType, bytes }] of samples) {
    const headers = { "content-type": contentType, "x-content-type-options": "nosniff" };
    app.get(path, () => new Response(Buffer.from(bytes), { headers }));
  }
}

/**
 * Rejects requests that have neither the token nor the page's cookie. Opening the page with a valid `?token=` sets the cookie and
 * redirects to the same address without the token, so that it does not stay in the browser history.
 */
function addToken(app: App, token: string): void {
  // What the browser keeps: not the token itself, and the same after a restart.
  const ticket = createHash("sha256").update(`emulator page\n${token}`).digest("hex");
  const unauthorized = {
    message: (context: Context) => answerError(context, new HttpError(401, TOKEN_NEEDED)),
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
const cookieNameOf = ({ env }: Context<{ Bindings: HttpBindings }>): string =>
  `apichat_emulator_${env.incoming.socket.localPort}`;

const TOKEN_NEEDED =
  'the token is missing or wrong; send "Authorization: Bearer <token>", or open ' +
  `${PAGE_PATH}?token=<token> in a browser`;

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
  const { httpStatus, message, headers } = toHttpError(error);
  if (context.req.path === PAGE_PATH) return answerText(httpStatus, `${message}\n`);
  const body: ControlError = { error: { code: CODES[httpStatus] ?? "failed", message } };
  return Response.json(body, { status: httpStatus, headers: { ...NOT_CACHED, ...headers } });
}

/** `unavailable`: a fault may close the connection to the bot, which has then not answered. That is no failure of ours. */
const STATUSES: Partial<Record<ApiChatError["code"], number>> = { invalid_config: 422, unavailable: 502 };

function toHttpError(error: Error): HttpError {
  if (error instanceof HttpError) return error;
  const status = error instanceof ApiChatError ? STATUSES[error.code] : undefined;
  if (status !== undefined) return new HttpError(status, error.message);
  return new HttpError(500, `the emulator failed: ${error.message}`);
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

/**
 * Beside this file's folder in the package; where sources are run, among what was built from them. The sources have an
 * index.html too, but nothing that a browser can run.
 */
const FOLDERS = ["../page/", "../../../dist/provider/emulator/page/"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

function addPage(app: App): void {
  app.get(PAGE_PATH, () => answerPage("index.html"));
  for (const file of Object.keys(CONTENT_TYPES) as PageFile[]) {
    app.get(PAGE_PATH + file, () => answerPage(file));
  }
}

/** Answers with a file of the page; 503 that says what to do if it was not built. */
async function answerPage(file: PageFile): Promise<Response> {
  const folder = FOLDERS.find((one) => existsSync(`${one}app.js`));
  if (folder === undefined) return answerText(503, NOT_BUILT);
  const content = await readFile(folder + file);
  return new Response(content, { headers: { ...HEADERS, "content-type": CONTENT_TYPES[file] } });
}

/** A text in place of the page. */
function answerText(status: number, text: string): Response {
  const headers = { ...HEADERS, "content-type": "text/plain; charset=utf-8" };
  return new Response(text, { status, headers });
}

const NOT_BUILT =
  "The page is not built. In a clone of pulumi-apichat run: npm run build\n" +
  "The control API under /_emulator/ works without it.\n";
