import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { type Context, Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { ApiChatError } from "../../errors/index.js";
import { bearerOf, HttpError, isSameKey, rejectKey } from "../request-checks.js";
import { samples, SAMPLES_PATH } from "../flows/samples.js";
import type { EmulatorState } from "../state.js";
import { assertSameOrigin, PAGE_PATH } from "./guard.js";
import { createApi, NOT_CACHED } from "./routes.js";
import type { ControlError } from "./shapes.js";

type App = Hono<{ Bindings: HttpBindings }>;

/**
 * Serves the control API and the page on the port of the registration interface. An unauthorized caller
 * learns nothing, not even whether a route exists.
 */
export function createControl(
  state: EmulatorState,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  const { settings } = state;
  const app: App = new Hono();
  app.onError((error, context) => respondError(context, error));
  app.notFound((context) =>
    respondError(context, new HttpError(404, "there is no such route; the docs list all routes")),
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
  // The program's global Request and Response must not be replaced.
  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}

/** Sample files need no token, because the receiver of a built-in flow's reply loads them. */
function addSamples(app: App): void {
  for (const { file, contentType, bytes } of Object.values(samples)) {
    const headers = { "content-type": contentType, "x-content-type-options": "nosniff" };
    app.get(SAMPLES_PATH + file, () => new Response(Buffer.from(bytes), { headers }));
  }
}

/**
 * Rejects requests that have neither the token nor the page's cookie. Opening the page with a valid `?token=`
 * sets the cookie and redirects to the same address without the token, so that the token does not stay in
 * the browser history.
 */
function addToken(app: App, token: string): void {
  // The cookie differs from the token, and stays the same after a restart.
  const ticket = createHash("sha256").update(`emulator page\n${token}`).digest("hex");
  app.get(PAGE_PATH, async (context, next) => {
    const given = context.req.query("token");
    if (given === undefined) return next();
    context.header("cache-control", "no-store");
    if (isSameKey(given, token)) {
      const scope = { path: "/_emulator", httpOnly: true, sameSite: "Strict" } as const;
      setCookie(context, cookieNameOf(context), ticket, scope);
    }
    return context.redirect(PAGE_PATH, 303);
  });
  app.use(async (context, next) => {
    const isAllowed =
      isSameKey(getCookie(context, cookieNameOf(context)), ticket) ||
      isSameKey(bearerOf(context.req.header()), token);
    if (!isAllowed) throw rejectKey(TOKEN_NEEDED);
    await next();
  });
}

/** The name contains the port, because all ports of a host share their cookies. */
const cookieNameOf = ({ env }: Context<{ Bindings: HttpBindings }>): string =>
  `apichat_emulator_${env.incoming.socket.localPort}`;

const TOKEN_NEEDED =
  'the token is missing or wrong; send "Authorization: Bearer <token>", or open ' +
  `${PAGE_PATH}?token=<token> in a browser`;

/** Returns the response to an error: text if the page was requested, otherwise JSON. */
function respondError(context: Context, error: Error): Response {
  const { httpStatus, message, headers } = toHttpError(error);
  if (context.req.path === PAGE_PATH) {
    const ofText = { "content-type": "text/plain; charset=utf-8", ...headers };
    return new Response(`${message}\n`, { status: httpStatus, headers: { ...HEADERS, ...ofText } });
  }
  const body: ControlError = { error: { message } };
  return Response.json(body, { status: httpStatus, headers: { ...NOT_CACHED, ...headers } });
}

/** `unavailable` is not a bug of the emulator: an injected fault may close the connection to the bot. */
const STATUSES: Partial<Record<ApiChatError["code"], number>> = { invalid_config: 422, unavailable: 502 };

function toHttpError(error: Error): HttpError {
  if (error instanceof HttpError) return error;
  const status = error instanceof ApiChatError ? STATUSES[error.code] : undefined;
  if (status !== undefined) return new HttpError(status, error.message);
  return new HttpError(500, `the emulator failed: ${error.message}`);
}

/** Media may come from any origin, everything else only from this one. No script may turn text into markup. */
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
 * The page is in the package, or in `dist/` if the sources are run directly. The sources also contain an
 * index.html, but no script that a browser can run.
 */
const FOLDERS = ["../page/", "../../../dist/provider/emulator/page/"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

function addPage(app: App): void {
  const root = FOLDERS.find((folder) => existsSync(`${folder}app.js`));
  const serve = root === undefined ? undefined : serveStatic({ root, rewriteRequestPath: basename });
  for (const file of ["", "index.html", "app.js", "app.css", "favicon.svg"]) {
    app.get(PAGE_PATH + file, async (context, next) => {
      if (serve === undefined) throw new HttpError(503, NOT_BUILT);
      for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
      return serve(context, next);
    });
  }
}

const basename = (path: string): string => path.slice(PAGE_PATH.length);

const NOT_BUILT =
  "The page is not built. In a clone of pulumi-apichat, run npm run build.\n" +
  "The control API under /_emulator/ works without it.";
