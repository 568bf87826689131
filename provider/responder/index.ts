export type { ResponderErrorCode } from "./answers.js";
export type { VerificationKeys } from "./keys.js";
export { createResponder } from "./responder.js";
export type { Delivery, DeliveryHandler, Responder, ResponderOptions } from "./responder.js";
export { signBody, verifySignature } from "./signature.js";
export type { VerifySignatureOptions } from "./signature.js";
