import * as z from "zod";
import type { InboundMessage } from "../../../schema/index.js";
import type { Conversation } from "../conversations.js";
import { sendReply } from "../deliveries/reply.js";
import type { EmulatorState } from "../emulator-state.js";
import type { MessageRecord } from "../records.js";
import type { WorkspaceState } from "../workspace-state.js";
import type { FlowReply } from "./flow.js";
import { flowReply } from "./reply-shape.js";
import { sampleUrls } from "./samples.js";

/**
 * Runs the workspace's flow with a contact's message, after those before it in the conversation, and queues what it replies.
 * Then the message is no longer unanswered. Never rejects: a flow that throws, or gives what is no reply, replies nothing and
 * is published as `flow-failed`. When the emulator closes first, the message stays unanswered.
 */
export function answerMessage(
  state: EmulatorState,
  workspace: WorkspaceState,
  conversation: Conversation,
  message: MessageRecord,
): Promise<void> {
  const job = { state, workspace, conversation, message };
  return conversation.turns.answer(() => answerInTurn(job));
}

interface AnswerJob {
  state: EmulatorState;
  workspace: WorkspaceState;
  conversation: Conversation;
  message: MessageRecord;
}

async function answerInTurn(job: AnswerJob): Promise<void> {
  const { state, workspace, conversation, message } = job;
  const replies = await askFlow(job);
  if (conversation.turns.until(state.outgoing.closing).aborted) return;
  message.unanswered = false;
  if (typeof replies === "string") {
    const failure = {
      workspace: workspace.name,
      conversation: conversation.id,
      message: message.id,
      reason: replies,
    };
    state.changes.publish({ kind: "flow-failed", failure });
  } else {
    for (const { delayMs = 0, ...content } of replies) {
      sendReply(state, workspace, conversation, { from: "flow", content, delayMs });
    }
  }
  state.changes.publish({ kind: "message", message });
}

/** What the flow replies, or why it has failed. */
async function askFlow(job: AnswerJob): Promise<FlowReply[] | string> {
  const { state, workspace, message } = job;
  const flow = state.flows.get(workspace.flow);
  if (!flow) return `there is no flow named "${workspace.flow}"`;
  try {
    const replies = await flow({
      workspace: workspace.name,
      message: message.body as InboundMessage,
      get messagesBefore() {
        return countBefore(job);
      },
      get samples() {
        return sampleUrls(state.origins.registration);
      },
    });
    return checkReplies(replies);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function countBefore({ conversation, message }: AnswerJob): number {
  return conversation.messages.filter(({ from, order }) => from === "contact" && order < message.order)
    .length;
}

const flowReplies = z.array(flowReply);

/** A function in JavaScript may give anything. */
function checkReplies(replies: unknown): FlowReply[] | string {
  const { data, error } = flowReplies.safeParse(replies);
  if (data !== undefined) return data;
  return `what the flow replied is not valid: ${z.prettifyError(error)}`;
}
