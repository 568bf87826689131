import * as z from "zod";
import { resendDelivery } from "../deliveries/delivery.js";
import type { DeliveryRecord, EmulatorState, WorkspaceState } from "../state.js";
import {
  findById,
  findConversation,
  findWorkspace,
  listQuery,
  readBody,
  readQuery,
  viewerOf,
  workspacesIn,
  type ControlApp,
} from "./requests.js";
import { viewConversation, viewRecord } from "./views.js";

const deliveryQuery = listQuery.extend({ conversation: z.string().optional() });
const resendBody = z.strictObject({ sign: z.boolean().default(false), body: z.string().optional() });

/** What happened: conversations, handshakes, deliveries and requests. */
export function addRecordRoutes(app: ControlApp, state: EmulatorState): void {
  app.get("/_emulator/conversations", (context) => {
    const { workspace, limit } = readQuery(context, listQuery);
    const conversations = workspacesIn(state, workspace).flatMap((one) => [...one.conversations.values()]);
    const newestFirst = conversations.toSorted(
      (a, b) => Date.parse(b.lastAt) - Date.parse(a.lastAt) || b.order - a.order,
    );
    return context.json(newestFirst.slice(0, limit).map(viewConversation));
  });

  app.get("/_emulator/conversations/:id/messages", (context) => {
    const { limit } = readQuery(context, listQuery.pick({ limit: true }));
    return context.json(findConversation(state, context.req.param("id")).messages.slice(-limit));
  });

  app.get("/_emulator/handshakes", (context) => {
    const { workspace, limit } = readQuery(context, listQuery);
    const handshakes = inOrder(workspacesIn(state, workspace), (one) => one.handshakes).slice(-limit);
    return context.json(handshakes.map((handshake) => viewRecord(viewerOf(state, context), handshake)));
  });

  app.get("/_emulator/handshakes/:id", (context) => {
    const handshakes = workspacesIn(state).flatMap((one) => one.handshakes);
    const handshake = findById("handshake", handshakes, context.req.param("id"));
    return context.json(viewRecord(viewerOf(state, context), handshake));
  });

  app.get("/_emulator/deliveries", (context) => {
    const { workspace, conversation, limit } = readQuery(context, deliveryQuery);
    if (conversation !== undefined) findConversation(state, conversation);
    const deliveries = inOrder(workspacesIn(state, workspace), (one) => one.deliveries)
      .filter((delivery) => conversation === undefined || delivery.conversation === conversation)
      .slice(-limit);
    return context.json(deliveries.map((delivery) => viewRecord(viewerOf(state, context), delivery)));
  });

  app.get("/_emulator/deliveries/:id", (context) =>
    context.json(viewRecord(viewerOf(state, context), findDelivery(state, context.req.param("id")))),
  );

  app.post("/_emulator/deliveries/:id/resend", async (context) => {
    const how = await readBody(context, resendBody);
    const delivery = findDelivery(state, context.req.param("id"));
    const copy = resendDelivery(state, findWorkspace(state, delivery.workspace), delivery, how);
    return context.json(viewRecord(viewerOf(state, context), copy), 202);
  });

  app.get("/_emulator/requests", (context) => {
    const { workspace, limit } = readQuery(context, listQuery);
    if (workspace !== undefined) findWorkspace(state, workspace);
    const requests = state.requests
      .filter((request) => workspace === undefined || request.workspace === workspace)
      .slice(-limit);
    return context.json(requests.map((request) => viewRecord(viewerOf(state, context), request)));
  });

  app.get("/_emulator/requests/:id", (context) => {
    const request = findById("request", state.requests, context.req.param("id"));
    return context.json(viewRecord(viewerOf(state, context), request));
  });
}

/** The records of some workspaces, oldest first. */
function inOrder<Item extends { order: number }>(
  workspaces: readonly WorkspaceState[],
  recordsOf: (workspace: WorkspaceState) => readonly Item[],
): Item[] {
  return workspaces.flatMap(recordsOf).toSorted((a, b) => a.order - b.order);
}

function findDelivery(state: EmulatorState, id: string): DeliveryRecord {
  const deliveries = workspacesIn(state).flatMap((one) => one.deliveries);
  return findById("delivery", deliveries, id);
}
