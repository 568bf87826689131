import * as z from "zod";
import { resendDelivery } from "../../deliveries/delivery.js";
import type { DeliveryRecord } from "../../records.js";
import type { WorkspaceState } from "../../workspace-state.js";
import {
  notFound,
  parseBody,
  parseQuery,
  type ControlCall,
  type ControlHandler,
  type ControlRoute,
} from "../call.js";
import { viewDelivery } from "../record-views.js";
import { answerControl } from "../refusal.js";
import { findConversation, listQuery, newest, workspacesIn } from "./records.js";

const deliveryQuery = listQuery.extend({ conversation: z.string().optional() });
const nothing = z.strictObject({});

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

  "GET /_emulator/deliveries/{id}": (call) => answerControl(viewDelivery(call, findDelivery(call).delivery)),

  "POST /_emulator/deliveries/{id}/resend": (call) => {
    parseBody(nothing, call);
    const { workspace, delivery } = findDelivery(call);
    return answerControl(viewDelivery(call, resendDelivery(call.state, workspace, delivery)), {
      status: 202,
    });
  },
} satisfies Partial<Record<ControlRoute, ControlHandler>>;

function findDelivery({ state, parameter }: ControlCall): {
  workspace: WorkspaceState;
  delivery: DeliveryRecord;
} {
  for (const workspace of state.directory.values()) {
    const delivery = workspace.deliveries.find(({ id }) => id === parameter);
    if (delivery !== undefined) return { workspace, delivery };
  }
  throw notFound(`there is no delivery ${JSON.stringify(parameter)}; the oldest are forgotten`);
}
