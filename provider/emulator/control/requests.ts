import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import * as z from "zod";
import { HttpError, parseJsonBody } from "../request-checks.js";
import { readBody } from "../service/http.js";
import { HISTORY_LIMIT, type EmulatorState, type WorkspaceState } from "../state.js";
import { parseOptions } from "../usage-errors.js";
import type { Viewer } from "./views.js";

export interface ControlEnv {
  Bindings: HttpBindings;
  Variables: { viewer: Viewer };
}

export type ControlApp = Hono<ControlEnv>;
export type ControlContext = Context<ControlEnv>;

/**
 * Returns the body as a string, which may be empty. Throws an HttpError if the body is too large, or if its content
 * type is not JSON, because a page on a different site can send some other types without a preflight.
 */
export async function readText({ env, req }: ControlContext): Promise<string> {
  const text = await readBody(env.incoming);
  if (typeof text !== "string") throw text;
  const [type = ""] = (req.header("content-type") ?? "").split(";");
  const isJson = type.trim().toLowerCase() === "application/json";
  if (!isJson && text !== "") throw new HttpError(415, "send the body as application/json");
  return text;
}

/** Parses the JSON body; no body means an empty object. The error names fields but contains no values. */
export async function readJson<T>(context: ControlContext, schema: z.ZodType<T>): Promise<T> {
  return parseOptions("body", schema, parseJsonBody((await readText(context)) || "{}"));
}

const limit = z.coerce.number().int().min(1).max(HISTORY_LIMIT);

/** The query parameters of a list of the newest records, either of one workspace or of all workspaces. */
export const listQuery = z.strictObject({ workspace: z.string().optional(), limit: limit.default(1000) });

export function parseQuery<T>(context: ControlContext, schema: z.ZodType<T>): T {
  const { reveal: _reveal, ...parameters } = context.req.query();
  return parseOptions("query", schema, parameters);
}

export function requireWorkspace({ directory }: EmulatorState, name: string): WorkspaceState {
  const workspace = directory.get(name);
  if (workspace) return workspace;
  throw new HttpError(404, `there is no workspace named ${JSON.stringify(name)}`);
}

export function findById<T extends { id: string }>(kind: string, records: readonly T[], id: string): T {
  const record = records.find((one) => one.id === id);
  if (record) return record;
  const text = `there is no ${kind} ${JSON.stringify(id)}: it is too old, was removed by a reset, or never existed`;
  throw new HttpError(404, text);
}
