export { UnavailableError, type Answer, type ResponderErrorCode } from "./answers.js";
export type { Delivery, DeliveryKind, TaggedMessage } from "./delivery.js";
export { deriveVerificationKeys, type DerivationOptions } from "./derive.js";
export { DELIVERY_ID_HEADER, endToEndHeaders, judgeForward, type ForwardVerdict } from "./forwarding.js";
export type { Handshake } from "./handshake.js";
export type { VerificationKeys, VerificationKeySource } from "./keys.js";
export type { BodyFailure, IncomingRequest, RequestHead, WaitUntil } from "./request.js";
export { createResponder } from "./responder.js";
export type {
  AnswerContext,
  DeliveryContext,
  DeliveryHandler,
  Responder,
  ResponderOptions,
} from "./responder.js";
export { signBody, verifySignature, type VerifySignatureOptions } from "./signature.js";
export { createDelivery, createHandshake } from "./test-requests.js";
export type { CreateDeliveryOptions, CreateHandshakeOptions } from "./test-requests.js";
