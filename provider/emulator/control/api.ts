import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HttpError } from "../errors.js";
import { BODY_LIMIT_BYTES } from "../service/http.js";
import type { EmulatorState } from "../state.js";
import { addRecordRoutes } from "./record-routes.js";
import type { ControlApp, ControlEnv } from "./requests.js";
import { addRoutes } from "./routes.js";

type Middleware = MiddlewareHandler<ControlEnv>;

/** The routes of the control API, to be mounted at `/_emulator`. */
export function createApi(state: EmulatorState): ControlApp {
  const api: ControlApp = new Hono();
  const readReveal: Middleware = (context, next) => {
    const { reveal = "false" } = context.req.query();
    if (reveal !== "true" && reveal !== "false") throw new HttpError(422, "reveal: must be true or false");
    context.set("viewer", { state, reveal: reveal === "true" });
    return next();
  };
  api.use(notCached, readReveal, limitBody, onlyJson);
  addRoutes(api, state);
  addRecordRoutes(api, state);
  refuseOtherMethods(api);
  return api;
}

/** Nothing of it is cached: it changes, and may hold secrets. */
export const NOT_CACHED = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const notCached: Middleware = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(NOT_CACHED)) context.res.headers.set(name, value);
};

const limit = bodyLimit({
  maxSize: BODY_LIMIT_BYTES,
  onError: () => {
    throw new HttpError(413, "the body is too large", { headers: { connection: "close" } });
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
  if (!isJson && (await req.text()) !== "") throw new HttpError(415, "send the body as application/json");
  await next();
};

/** Methods and paths, such as `{ method: "GET", path: "/workspaces/:name" }`. */
export const listRoutes = ({ routes }: ControlApp): { method: string; path: string }[] =>
  // What is for every method is a middleware.
  routes.filter(({ method }) => method !== "ALL");

function refuseOtherMethods(api: ControlApp): void {
  for (const [path, routes] of Map.groupBy(listRoutes(api), (route) => route.path)) {
    const allow = routes.map(({ method }) => method).join(", ");
    api.all(path, () => {
      throw new HttpError(405, `takes ${allow} only`, { headers: { allow } });
    });
  }
}
