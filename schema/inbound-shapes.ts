import type * as z from "zod";
import type { InboundKind } from "./inbound-kind.js";
import {
  inboundAudioMessage,
  inboundButtonMessage,
  inboundFileMessage,
  inboundImageMessage,
  inboundTextMessage,
  inboundVideoMessage,
  type InboundMessage,
} from "./inbound.js";

/** The zod schema of each kind of message (section 4.2): a problem of one names its field, as that of their union does not. */
export const inboundShapes: Readonly<Record<InboundKind, z.ZodType<InboundMessage>>> = {
  text: inboundTextMessage,
  button: inboundButtonMessage,
  image: inboundImageMessage,
  audio: inboundAudioMessage,
  video: inboundVideoMessage,
  file: inboundFileMessage,
};
