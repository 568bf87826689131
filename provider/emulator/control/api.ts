import { Hono, type MiddlewareHandler } from "hono";
import { HttpError } from "../checks.js";
import type { EmulatorState } from "../state.js";
import { addRecordRoutes } from "./record-routes.js";
import type { ControlApp, ControlEnv } from "./requests.js";
import { addRoutes } from "./routes.js";

/** Creates the routes of the control API, to be mounted at `/_emulator`. */
export function createApi(state: EmulatorState): ControlApp {
  const api: ControlApp = new Hono();
  const readReveal: MiddlewareHandler<ControlEnv> = (context, next) => {
    const { reveal = "false" } = context.req.query();
    if (reveal !== "true" && reveal !== "false") throw new HttpError(422, "reveal: must be true or false");
    context.set("viewer", { state, reveal: reveal === "true" });
    return next();
  };
  api.use(notCached, readReveal);
  addRoutes(api, state);
  addRecordRoutes(api, state);
  rejectOtherMethods(api);
  return api;
}

/** Responses change and may contain secrets. */
export const NOT_CACHED = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const notCached: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(NOT_CACHED)) context.res.headers.set(name, value);
};

/** Returns methods and paths, such as `{ method: "GET", path: "/workspaces/:name" }`. */
export const listRoutes = ({ routes }: ControlApp): { method: string; path: string }[] =>
  // Middleware is for every method.
  routes.filter(({ method }) => method !== "ALL");

function rejectOtherMethods(api: ControlApp): void {
  for (const [path, routes] of Map.groupBy(listRoutes(api), (route) => route.path)) {
    const allow = routes.map(({ method }) => method).join(", ");
    api.all(path, () => {
      throw new HttpError(405, `use ${allow}`, { headers: { allow } });
    });
  }
}
