/** The second door: what is not published. */
export { answerError, STATUS_BY_CODE } from "./answers.js";
export { parseMessage } from "./delivery.js";
export { findHandshake, shortTextOf } from "./handshake.js";
export { BODY_LIMIT_BYTES, pathOf } from "./request.js";
export { SIGNATURE_HEADER, signBody } from "./signature.js";
