/** A second entry file, for exports that are not published. */
export { answerError, STATUS_BY_CODE } from "./answers.js";
export { BODY_LIMIT_BYTES, pathOf } from "./request.js";
export { SIGNATURE_HEADER, signBody } from "./signature.js";
