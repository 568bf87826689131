import type * as z from "zod";
import { describeIssues, inOurWords } from "../../lib/validate.js";
import type { EmulatorState } from "../emulator-state.js";
import type { WorkspaceState } from "../workspace-state.js";
import { ControlRefusal } from "./refusal.js";
import type { CONTROL_ROUTES } from "./shapes.js";

/** A request to the control API that may be answered: it comes from here, and from who may. */
export interface ControlCall {
  state: EmulatorState;
  /** The secrets are asked for in clear. */
  reveal: boolean;
  /** What stands in the path for `{name}` or `{id}`. */
  parameter: string;
  query: URLSearchParams;
  /** The body as text; empty if there is none. */
  text: string;
  /** Ends the connection, in the middle of the answer. */
  breakOff: () => void;
}

/** Answers a call of one route. May throw a ControlRefusal. */
export type ControlHandler = (call: ControlCall) => Response | Promise<Response>;

export type ControlRoute = (typeof CONTROL_ROUTES)[number];

/** The workspace that the path names. */
export function workspaceOf({ state, parameter }: ControlCall): WorkspaceState {
  return findWorkspace(state, parameter);
}

/** Throws a 404 if there is no workspace of this name. */
export function findWorkspace({ directory }: EmulatorState, name: string): WorkspaceState {
  const workspace = directory.get(name);
  if (workspace === undefined) throw notFound(`there is no workspace named ${JSON.stringify(name)}`);
  return workspace;
}

export const notFound = (message: string): ControlRefusal => new ControlRefusal(404, "not_found", message);

/** What the request asks for is understood, and cannot be. */
export const unacceptable = (message: string): ControlRefusal => new ControlRefusal(422, "invalid", message);

/** The body, if it is JSON of this shape. Throws a refusal that names each field and holds no value. */
export function parseBody<T>(schema: z.ZodType<T>, { text }: ControlCall): T {
  return parseShape(schema, parseJson(text === "" ? "{}" : text));
}

/** The query parameters, `reveal` among them, if they have this shape. */
export function parseQuery<T>(schema: z.ZodType<T>, { query }: ControlCall): T {
  const { reveal: _reveal, ...parameters } = Object.fromEntries(query);
  return parseShape(schema, parameters);
}

function parseShape<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value, { error: inOurWords });
  if (error === undefined) return data;
  throw unacceptable(describeIssues(error.issues).join("; "));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ControlRefusal(400, "invalid_json", "the body is not JSON");
  }
}
