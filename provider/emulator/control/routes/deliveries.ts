import * as z from "zod";
import { resendDelivery } from "../../deliveries/delivery.js";
import type { DeliveryRecord } from "../../records.js";
import {
  findWorkspace,
  parseBody,
  parseQuery,
  type ControlCall,
  type ControlHandler,
  type ControlRoute,
} from "../call.js";
import { viewDelivery } from "../record-views.js";
import { answerControl } from "../refusal.js";
import { findById, findConversation, listQuery, newest, workspacesIn } from "./records.js";

const deliveryQuery = listQuery.extend({ conversation: z.string().optional() });
const resend = z.strictObject({ sign: z.boolean().default(false), body: z.string().optional() });

export const deliveryRoutes = {
  "GET /_emulator/deliveries": (call) => {
    const { workspace, conversation, limit } = parseQuery(deliveryQuery, call);
    if (conversation !== undefined) findConversation(call.state, conversation);
    const isWanted = (delivery: DeliveryRecord): boolean =>
      conversation === undefined || delivery.conversation === conversation;
    const deliveries = newest(
      workspacesIn(call.state, workspace),
      (one) => one.deliveries.filter(isWanted),
      limit,
    );
    return answerControl(deliveries.map((delivery) => viewDelivery(call, delivery)));
  },

  "GET /_emulator/deliveries/{id}": (call) => answerControl(viewDelivery(call, findDelivery(call))),

  "POST /_emulator/deliveries/{id}/resend": (call) => {
    const how = parseBody(resend, call);
    const delivery = findDelivery(call);
    const workspace = findWorkspace(call.state, delivery.workspace);
    const again = resendDelivery(call.state, workspace, delivery, how);
    return answerControl(viewDelivery(call, again), { status: 202 });
  },
} satisfies Partial<Record<ControlRoute, ControlHandler>>;

function findDelivery({ state, parameter }: ControlCall): DeliveryRecord {
  const deliveries = workspacesIn(state).flatMap((one) => one.deliveries);
  return findById("delivery", deliveries, parameter);
}
