import { DELIVERY_ID_HEADER, judgeForward, type ForwardVerdict } from "pulumi-apichat/responder";
import type { QueuedDelivery } from "./queued-delivery";

/** The outcome of an attempt, and the reason if the delivery was not accepted. */
export type Outcome = ForwardVerdict & { reason: string };

/** How long a target may take to respond. */
const TIME_LIMIT_MS = 20_000;

/** Posts a delivery unchanged, with its end-to-end headers and its id. Does not follow redirects. */
export async function postDelivery(target: string, { id, headers, body }: QueuedDelivery): Promise<Outcome> {
  try {
    const response = await fetch(target, {
      method: "POST",
      headers: [...headers, [DELIVERY_ID_HEADER, id]],
      body: new Uint8Array(body),
      redirect: "manual",
      signal: AbortSignal.timeout(TIME_LIMIT_MS),
    });
    await response.body?.cancel();
    const verdict = judgeForward(response.status, response.headers.get("retry-after"));
    return { ...verdict, reason: `status ${response.status}` };
  } catch (error) {
    return { kind: "retry", retryAfterSeconds: 0, reason: describe(error) };
  }
}

/** `fetch` puts the reason into `cause`. */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${String(error)}${cause}`;
}
