import * as z from "zod";
import { OutboundFormatError, type KnownOutbound } from "../../../../schema/index.js";
import { parseSentOutbound } from "../../../../schema/parse-outbound.js";
import { ApiChatError } from "../../../errors/index.js";
import { conversationOf } from "../../conversations.js";
import { sendReply } from "../../deliveries/reply.js";
import { sendAsContact } from "../../send-as-contact.js";
import {
  parseBody,
  unacceptable,
  workspaceOf,
  type ControlCall,
  type ControlHandler,
  type ControlRoute,
} from "../call.js";
import { viewDelivery, viewMessage } from "../record-views.js";
import { answerControl, ControlRefusal } from "../refusal.js";
import type { ContactMessageAnswer, ReplyAnswer } from "../shapes.js";

const anything = z.record(z.string(), z.unknown());

/** What a person says on the page, as the contact or as the agent. */
export const messageRoutes = {
  "POST /_emulator/workspaces/{name}/messages": async (call) => {
    const workspace = workspaceOf(call);
    const { status, body = null } = await sendToBot(() =>
      sendAsContact(call.state, workspace, parseBody(anything, call)),
    );
    const answer: ContactMessageAnswer = { status, body };
    return answerControl(answer, { status: status >= 400 ? status : 200 });
  },

  "POST /_emulator/workspaces/{name}/replies": (call) => {
    const workspace = workspaceOf(call);
    const { sender_id, conv_id, message_type: _type, private: _private, ...content } = parseReply(call);
    const conversation = conversationOf(call.state, workspace, {
      contactId: sender_id,
      conversationId: conv_id,
    });
    const { message, delivery } = sendReply(call.state, workspace, conversation, { from: "agent", content });
    const answer: ReplyAnswer = {
      message: viewMessage(message),
      delivery: delivery === undefined ? null : viewDelivery(call, delivery),
    };
    return answerControl(answer, { status: 201 });
  },
} satisfies Partial<Record<ControlRoute, ControlHandler>>;

/** A fault may close the connection: the bot has then not answered, which is no failure of ours. */
async function sendToBot(send: () => ReturnType<typeof sendAsContact>): ReturnType<typeof sendAsContact> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ApiChatError) || error.code !== "unavailable") throw error;
    throw new ControlRefusal(502, "unavailable", error.message);
  }
}

/** From the text: a conversation id beyond the safe integers keeps its digits. */
function parseReply({ text }: ControlCall): KnownOutbound["message"] {
  try {
    const parsed = parseSentOutbound(withDefaults(text));
    if (parsed.kind !== "unknown") return parsed.message;
  } catch (error) {
    if (error instanceof OutboundFormatError) throw unacceptable(error.message);
    throw error;
  }
  throw unacceptable(
    "type: must be one of the seven kinds; content_type: button_template, generic_template or none",
  );
}

/** The same in every reply, so it may be left out. Of a field that stands twice in JSON the last one counts. */
const withDefaults = (text: string): string =>
  text.replace(/^\s*\{(?=\s*")/, '{"message_type":"outgoing","private":false,');
