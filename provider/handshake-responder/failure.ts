import { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";

/** A failure of the process's own lifecycle. */
export const processError = (code: ApiChatErrorCode, message: string, cause?: unknown): ApiChatError =>
  new ApiChatError(code, message, { operation: "responder", ...(cause === undefined ? {} : { cause }) });
