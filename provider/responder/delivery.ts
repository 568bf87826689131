import { outboundKindOf, reviveConversationId, type OutboundKind } from "../../schema/message-kind.js";
import type { KnownOutbound } from "../../schema/parse-outbound.js";

/**
 * A message with its kind (section 2.4). `type` and `content_type` alone determine the kind. The other fields
 * are typed as specified but not checked: use `parseOutbound` to check them. JSON that is none of the specified
 * messages has the kind "unknown".
 */
export type TaggedMessage =
  | KnownOutbound
  | {
      kind: "unknown";
      /** Any JSON value. */
      message: unknown;
    };

/** The kinds of section 2.4, and "unknown". */
export type DeliveryKind = OutboundKind | "unknown";

/** A delivery whose signature was verified (section 6.2). Its `kind` is the kind of its `message`. */
export type Delivery = TaggedMessage & {
  /** The body as received and signed. */
  rawBody: Uint8Array;
  /** The header `x-flow-ns`: the namespace of the bot's flow. */
  flowNs: string | undefined;
  /** The header `x-action`. Its only value in the specification is `messages`. */
  action: string | undefined;
  /** The index of the verification key that signed the delivery. */
  keyIndex: number;
};

/** Matches a conversation ID that may be too long for a number. A reviver is used only if it does. */
const LONG_CONVERSATION_ID = /"conv_id"\s*:\s*-?\d{16}/;

export function parseMessage(text: string): TaggedMessage | undefined {
  try {
    const message: unknown = LONG_CONVERSATION_ID.test(text)
      ? JSON.parse(text, reviveConversationId)
      : JSON.parse(text);
    return { kind: outboundKindOf(message), message } as TaggedMessage;
  } catch {
    // The error is dropped: the response is 400 in any case, and the error's message would quote the body.
    return undefined;
  }
}
