import * as z from "zod";
import type { InboundMessage } from "../../../schema/inbound.js";
import { sendReply } from "../deliveries/delivery.js";
import type { Conversation, EmulatorState, MessageRecord, WorkspaceState } from "../state.js";
import { flowReply, type FlowReply } from "./flow.js";
import { sampleUrls } from "./samples.js";

interface AnswerJob {
  state: EmulatorState;
  workspace: WorkspaceState;
  conversation: Conversation;
  message: MessageRecord;
}

/**
 * Runs the workspace's flow with a contact's message, after those before it in the conversation, and queues what it replies. Then
 * the message is no longer unanswered. Never rejects: a flow that throws or returns an invalid reply sends nothing and is
 * published as `flow-failed`. When the emulator closes first, the message stays unanswered.
 */
export function answerMessage(job: AnswerJob): Promise<void> {
  return job.conversation.queue.answer(() => answerInTurn(job));
}

async function answerInTurn(job: AnswerJob): Promise<void> {
  const { state, workspace, conversation, message } = job;
  const replies = await askFlow(job);
  if (conversation.queue.ended.aborted) return;
  message.unanswered = false;
  if (typeof replies === "string") {
    const of = { workspace: workspace.name, conversation: conversation.id, message: message.id };
    state.changes.publish({ kind: "flow-failed", failure: { ...of, reason: replies } });
  } else {
    for (const { delayMs = 0, ...content } of replies) {
      sendReply(state, workspace, conversation, { from: "flow", content, delayMs });
    }
  }
  state.changes.publish({ kind: "message", message });
}

const flowReplies = z.array(flowReply);

/** What the flow replies, or why it has failed. A function in JavaScript may give anything. */
async function askFlow(job: AnswerJob): Promise<FlowReply[] | string> {
  const { state, workspace, message } = job;
  const flow = state.flows.get(workspace.flow);
  if (!flow) return `there is no flow named "${workspace.flow}"`;
  try {
    const replies: unknown = await flow({
      workspace: workspace.name,
      message: message.body as InboundMessage,
      get messagesBefore() {
        return countBefore(job);
      },
      get samples() {
        return sampleUrls(state.origins.registration);
      },
    });
    const { data, error } = flowReplies.safeParse(replies);
    return data ?? `what the flow replied is not valid: ${z.prettifyError(error)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function countBefore({ conversation, message }: AnswerJob): number {
  const isBefore = ({ from, order }: MessageRecord): boolean => from === "contact" && order < message.order;
  return conversation.messages.filter(isBefore).length;
}
