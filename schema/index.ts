export * from "./handshake.js";
export * from "./inbound.js";
export {
  INBOUND_KINDS,
  inboundKindOf,
  MEDIA_KINDS,
  outboundKindOf,
  type InboundKind,
  type MediaKind,
  type OutboundKind,
} from "./message-kind.js";
export * from "./outbound.js";
export {
  OutboundFormatError,
  parseOutbound,
  type KnownOutbound,
  type OutboundIssue,
  type ParsedOutbound,
} from "./parse-outbound.js";
export type { ReceivedConversationId } from "./parts.js";
export * from "./registration.js";
