import * as z from "zod";
import type { Conversation } from "../../conversations.js";
import type { EmulatorState } from "../../emulator-state.js";
import { HISTORY_LIMIT } from "../../history.js";
import type { WorkspaceState } from "../../workspace-state.js";
import {
  findWorkspace,
  notFound,
  parseQuery,
  type ControlCall,
  type ControlHandler,
  type ControlRoute,
} from "../call.js";
import { viewHandshake, viewMessage, viewRequest } from "../record-views.js";
import { answerControl } from "../refusal.js";
import { viewConversation } from "../workspace-views.js";

const limit = z
  .string()
  .regex(/^\d{1,5}$/, { error: `must be a whole number from 1 to ${HISTORY_LIMIT}` })
  .transform(Number)
  .pipe(z.int().min(1).max(HISTORY_LIMIT));

/** The query of a list: the newest of a workspace, or of all. */
export const listQuery = z.strictObject({ workspace: z.string().optional(), limit: limit.default(1000) });

/** Conversations, handshakes and requests: what can only be read. */
export const recordRoutes = {
  "GET /_emulator/conversations": (call) => {
    const { workspace, limit: count } = parseQuery(listQuery, call);
    const conversations = workspacesIn(call.state, workspace).flatMap((one) => [
      ...one.conversations.values(),
    ]);
    const newestFirst = conversations.toSorted(
      (a, b) => b.lastAt.getTime() - a.lastAt.getTime() || b.order - a.order,
    );
    return answerControl(newestFirst.slice(0, count).map(viewConversation));
  },

  "GET /_emulator/conversations/{id}/messages": (call) => {
    const { limit: count } = parseQuery(listQuery.pick({ limit: true }), call);
    const { messages } = findConversation(call.state, call.parameter);
    return answerControl(messages.slice(-count).map(viewMessage));
  },

  "GET /_emulator/handshakes": (call) => {
    const { workspace, limit: count } = parseQuery(listQuery, call);
    const handshakes = newest(workspacesIn(call.state, workspace), (one) => one.handshakes, count);
    return answerControl(handshakes.map((handshake) => viewHandshake(call, handshake)));
  },

  "GET /_emulator/handshakes/{id}": (call) => {
    const handshakes = workspacesIn(call.state).flatMap((one) => one.handshakes);
    return answerControl(viewHandshake(call, findById("handshake", handshakes, call.parameter)));
  },

  "GET /_emulator/requests": (call) => answerControl(listRequests(call)),

  "GET /_emulator/requests/{id}": (call) =>
    answerControl(viewRequest(call, findById("request", call.state.requests, call.parameter))),
} satisfies Partial<Record<ControlRoute, ControlHandler>>;

function listRequests(call: ControlCall) {
  const { workspace, limit: count } = parseQuery(listQuery, call);
  if (workspace !== undefined) findWorkspace(call.state, workspace);
  return call.state.requests
    .filter((request) => workspace === undefined || request.workspace === workspace)
    .slice(-count)
    .map((request) => viewRequest(call, request));
}

/** The newest records of some workspaces, oldest first. */
export function newest<T extends { order: number }>(
  workspaces: readonly WorkspaceState[],
  recordsOf: (workspace: WorkspaceState) => readonly T[],
  count: number,
): T[] {
  return workspaces
    .flatMap(recordsOf)
    .toSorted((a, b) => a.order - b.order)
    .slice(-count);
}

/** The workspace of this name, or all. */
export function workspacesIn(state: EmulatorState, name?: string): WorkspaceState[] {
  return name === undefined ? [...state.directory.values()] : [findWorkspace(state, name)];
}

/** The record of this id. Throws a 404 if there is none. */
export function findById<Item extends { id: string }>(
  kind: string,
  records: readonly Item[],
  id: string,
): Item {
  const record = records.find((one) => one.id === id);
  if (record !== undefined) return record;
  throw notFound(
    `there is no ${kind} ${JSON.stringify(id)}: it is too old, from before a reset, or never was`,
  );
}

export function findConversation(state: EmulatorState, id: string): Conversation {
  const conversations = workspacesIn(state).flatMap((one) => [...one.conversations.values()]);
  return findById("conversation", conversations, id);
}
