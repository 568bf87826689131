import type {
  InboundMessage,
  MediaKind,
  OutboundAudio,
  OutboundButtonTemplate,
  OutboundFile,
  OutboundGenericTemplate,
  OutboundImage,
  OutboundText,
  OutboundVideo,
} from "../../../schema/index.js";

/** What the emulator fills in: whom a reply is for. */
type Addressed = "sender_id" | "conv_id" | "message_type" | "private";

/** A reply of any of the seven kinds (section 2.4), without the fields that every delivery has. */
export type ReplyContent =
  | Omit<OutboundText, Addressed>
  | Omit<OutboundImage, Addressed>
  | Omit<OutboundAudio, Addressed>
  | Omit<OutboundVideo, Addressed>
  | Omit<OutboundFile, Addressed>
  | Omit<OutboundButtonTemplate, Addressed>
  | Omit<OutboundGenericTemplate, Addressed>;

/** One reply of a flow. `delayMs` is waited for after the reply before it; default 0. */
export type FlowReply = ReplyContent & { delayMs?: number };

/** What a flow is asked with. */
export interface FlowContext {
  /** The name of the workspace. */
  workspace: string;
  /** The message to answer. */
  message: InboundMessage;
  /** How many messages the contact had sent in this conversation before this one. */
  messagesBefore: number;
  /** URLs of small media that the emulator serves itself, for replies that show any. */
  samples: Readonly<Record<MediaKind, string>>;
}

/** What replies to a contact's message: an empty list is silence. A function that throws replies nothing and is reported. */
export type Flow = (context: FlowContext) => readonly FlowReply[] | Promise<readonly FlowReply[]>;
