import type { Dispatcher } from "undici";
import { post, type AnswerHead, type PostError } from "../../lib/post.js";
import { DELIVERY_ID_HEADER, endToEndHeaders, judgeForward } from "../../responder/forwarding.js";
import type { AcceptedDelivery } from "../spool/rows.js";

/**
 * What came of one attempt. `delivered`: answered with 2xx. `refused`: the target does not want this message, and would
 * not the next time. `failed`: it may work later. `abandoned`: the signal fired before an answer.
 */
export type ForwardOutcome =
  | { kind: "delivered" }
  | { kind: "refused"; failure: string }
  | { kind: "failed"; failure: string; retryAfterMs: number }
  | { kind: "abandoned" };

export interface ForwardRequestOptions {
  url: URL;
  dispatcher: Dispatcher;
  /** For the whole attempt, the connection and the answer's body included. */
  timeoutMs: number;
  /** Ends the attempt at once. */
  signal: AbortSignal;
}

/** An answer's body is not used; a longer one costs its connection. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

/**
 * Posts a delivery once: the body byte for byte, the end-to-end headers as they came, and `x-apichat-delivery-id`. A
 * redirect is not followed. A status counts even if the answer's body never ends. Never rejects.
 */
export async function forwardRequest(
  { id, headers, body }: Pick<AcceptedDelivery, "id" | "headers" | "body">,
  { url, ...options }: ForwardRequestOptions,
): Promise<ForwardOutcome> {
  try {
    const pairs = [...endToEndHeaders(headers), [DELIVERY_ID_HEADER, id]];
    return judgeAnswer(
      await post(url, { headers: pairs.flat(), body, limitBytes: ANSWER_LIMIT_BYTES, ...options }),
    );
  } catch (error) {
    const { head, failure, message } = error as PostError;
    if (head !== undefined) return judgeAnswer(head);
    if (failure === "aborted") return { kind: "abandoned" };
    return { kind: "failed", failure: message, retryAfterMs: 0 };
  }
}

function judgeAnswer({ status, headers }: AnswerHead): ForwardOutcome {
  const verdict = judgeForward(status, headers["retry-after"]);
  if (verdict.kind === "done") return { kind: "delivered" };
  if (verdict.kind === "refused") return { kind: "refused", failure: `HTTP ${status}` };
  const redirects = status >= 300 && status < 400 ? ", a redirect, which is not followed" : "";
  const retryAfterMs = verdict.retryAfterSeconds * 1000;
  return { kind: "failed", failure: `HTTP ${status}${redirects}`, retryAfterMs };
}
