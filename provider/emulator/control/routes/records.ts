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

  "GET /_emulator/requests": (call) => answerControl(listRequests(call)),
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
export function workspacesIn(state: EmulatorState, name: string | undefined): WorkspaceState[] {
  return name === undefined ? [...state.directory.values()] : [findWorkspace(state, name)];
}

export function findConversation(state: EmulatorState, id: string): Conversation {
  for (const workspace of state.directory.values()) {
    for (const conversation of workspace.conversations.values()) {
      if (conversation.id === id) return conversation;
    }
  }
  throw notFound(`there is no conversation ${JSON.stringify(id)}`);
}
