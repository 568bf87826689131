import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import * as z from "zod";
import { describeIssues, inOurWords } from "../../lib/validate.js";
import { HttpError } from "../errors.js";
import { HISTORY_LIMIT, type Conversation, type EmulatorState, type WorkspaceState } from "../state.js";
import type { Viewer } from "./views.js";

export interface ControlEnv {
  Bindings: HttpBindings;
  Variables: { viewer: Viewer };
}

export type ControlApp = Hono<ControlEnv>;
export type ControlContext = Context<ControlEnv>;

/** The body, if it is JSON of this shape; an empty object without one. Throws an HttpError that names fields but contains no values. */
export async function readBody<T>(context: ControlContext, schema: z.ZodType<T>): Promise<T> {
  const text = (await context.req.text()) || "{}";
  try {
    return parseShape(schema, JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) throw new HttpError(400, "the body is not JSON");
    throw error;
  }
}

const limit = z
  .string()
  .regex(/^\d{1,5}$/, { error: `must be a whole number from 1 to ${HISTORY_LIMIT}` })
  .transform(Number)
  .pipe(z.int().min(1).max(HISTORY_LIMIT));

/** The query of a list: the newest of a workspace, or of all. */
export const listQuery = z.strictObject({ workspace: z.string().optional(), limit: limit.default(1000) });

/** The query parameters, `reveal` among them, if they have this shape. */
export function readQuery<T>(context: ControlContext, schema: z.ZodType<T>): T {
  const { reveal: _reveal, ...parameters } = context.req.query();
  return parseShape(schema, parameters);
}

function parseShape<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value, { error: inOurWords });
  if (error === undefined) return data;
  throw new HttpError(422, describeIssues(error.issues).join("; "));
}

/** Throws a 404 if there is no workspace of this name. */
export function findWorkspace({ directory }: EmulatorState, name: string | undefined): WorkspaceState {
  const workspace = directory.get(name ?? "");
  if (workspace) return workspace;
  throw new HttpError(404, `there is no workspace named ${JSON.stringify(name)}`);
}

/** The record that the path names. Throws a 404 if there is none. */
export function findById<Item extends { id: string }>(
  kind: string,
  records: readonly Item[],
  id: string,
): Item {
  const record = records.find((one) => one.id === id);
  if (record) return record;
  const text = `there is no ${kind} ${JSON.stringify(id)}: it is too old, from before a reset, or never was`;
  throw new HttpError(404, text);
}

export function findConversation(state: EmulatorState, id: string): Conversation {
  const conversations = [...state.directory.values()].flatMap((one) => [...one.conversations.values()]);
  return findById("conversation", conversations, id);
}
