import * as z from "zod";
import type { InboundMessage } from "../../../schema/inbound.js";
import type { OutboundMessage } from "../../../schema/outbound.js";
import { sendReply } from "../deliveries/delivery.js";
import type { Conversation, MessageRecord, Place } from "../state.js";
import { builtInFlows, flowReply, type FlowContext, type FlowReply } from "./flows.js";
import { sampleUrls } from "./samples.js";

interface FlowJob extends Place {
  message: MessageRecord;
}

/**
 * Waits until the flow has run for the conversation's earlier messages, then runs it for this message and queues
 * its replies. If the flow throws or returns an invalid reply, nothing is sent and `flow-failed` is published.
 */
export const runFlow = (job: FlowJob): Promise<void> =>
  job.state.turns.run(job.conversation, async () => {
    const { state, workspace, conversation } = job;
    const replies = await callFlow(job);
    if (conversation.queue.ended.aborted) return;
    if (typeof replies === "string") {
      state.changes.publish({ type: "flow-failed", workspace: workspace.name, reason: replies });
    } else {
      for (const reply of replies) sendReply(job, "flow", addressReply(conversation, reply));
    }
  });

const flowReplies = z.array(flowReply);

/** Returns the flow's replies, or why it failed. A function in JavaScript may return anything. */
async function callFlow({ state, workspace, message }: FlowJob): Promise<FlowReply[] | string> {
  const { name, flow } = workspace;
  const context: FlowContext = {
    workspace: name,
    message: message.body as InboundMessage,
    samples: sampleUrls(state.origins.registration),
  };
  if (typeof flow === "string") return builtInFlows[flow](context, state.settings.defaultAction);
  try {
    const replies: unknown = await flow(context);
    const { data, error } = flowReplies.safeParse(replies);
    return data ?? `the flow's reply is not valid: ${z.prettifyError(error)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function addressReply(
  { contactId, conversationId }: Conversation,
  { type, ...content }: FlowReply,
): OutboundMessage {
  const id = Number(conversationId);
  const conv_id = Number.isSafeInteger(id) ? id : BigInt(conversationId);
  const addressed = { sender_id: contactId, conv_id, type };
  return { ...addressed, message_type: "outgoing", private: false, ...content } as OutboundMessage;
}
