import * as z from "zod";
import { resendDelivery } from "../deliveries/delivery.js";
import type { DeliveryRecord, EmulatorState, HandshakeRecord, RecordedRequest } from "../state.js";
import { listRecords, matchesPartially } from "../wait.js";
import {
  findById,
  findConversation,
  listQuery,
  readJson,
  parseQuery,
  requireWorkspace,
  type ControlApp,
} from "./requests.js";
import { viewConversation, viewRecord } from "./views.js";

const recordQuery = listQuery.extend({ conversation: z.string().optional() });
const resendBody = z.strictObject({ sign: z.boolean().default(false), body: z.string().optional() });

type ListedRecord = DeliveryRecord | HandshakeRecord | RecordedRequest;

/** Conversations, handshakes, deliveries and requests. */
export function addRecordRoutes(api: ControlApp, state: EmulatorState): void {
  const listDeliveries = (): DeliveryRecord[] => listRecords(state, "delivery");
  const lists: [kind: string, path: string, oldestFirst: () => readonly ListedRecord[]][] = [
    ["handshake", "/handshakes", () => listRecords(state, "handshake")],
    ["delivery", "/deliveries", listDeliveries],
    ["request", "/requests", () => state.requests],
  ];
  for (const [kind, path, list] of lists) {
    api.get(path, (context) => {
      const { limit, ...wanted } = parseQuery(context, recordQuery);
      if (wanted.workspace !== undefined) requireWorkspace(state, wanted.workspace);
      if (wanted.conversation !== undefined) findConversation(state, wanted.conversation);
      const records = list().filter((record) => matchesPartially(record, wanted));
      return context.json(records.slice(-limit).map((record) => viewRecord(context.var.viewer, record)));
    });

    api.get(`${path}/:id`, (context) =>
      context.json(viewRecord(context.var.viewer, findById(kind, list(), context.req.param("id")))),
    );
  }

  api.post("/deliveries/:id/resend", async (context) => {
    const how = await readJson(context, resendBody);
    const delivery = findById("delivery", listDeliveries(), context.req.param("id"));
    const copy = resendDelivery(state, requireWorkspace(state, delivery.workspace), delivery, how);
    return context.json(viewRecord(context.var.viewer, copy), 202);
  });

  api.get("/conversations", (context) => {
    const { workspace, limit } = parseQuery(context, listQuery);
    const workspaces =
      workspace === undefined ? state.directory.values() : [requireWorkspace(state, workspace)];
    const newestFirst = [...workspaces]
      .flatMap(({ conversations }) => [...conversations.values()])
      .toSorted((a, b) => Date.parse(b.lastAt) - Date.parse(a.lastAt) || b.order - a.order);
    return context.json(newestFirst.slice(0, limit).map(viewConversation));
  });

  api.get("/conversations/:id/messages", (context) => {
    const { limit } = parseQuery(context, listQuery.pick({ limit: true }));
    return context.json(findConversation(state, context.req.param("id")).messages.slice(-limit));
  });
}
