import { judgeForward } from "pulumi-apichat/responder";
import { findWorkspace, type Env } from "./environment";
import { readLetter, type Letter } from "./letter";

const ANSWER_WITHIN_MS = 30_000;
const MAX_BACKOFF_SECONDS = 60 * 60;
/** Queues reject longer delays. */
const MAX_DELAY_SECONDS = 12 * 60 * 60;

/** Forwards one delivery. If the target does not accept it, retries it later, or buries it if a retry cannot help. */
export async function forward(message: Message<Letter>, env: Env): Promise<void> {
  const { id, workspace } = message.body;
  try {
    const response = await post(message.body, env);
    const verdict = judgeForward(response.status, response.headers.get("retry-after"));
    if (verdict.kind === "done") return message.ack();
    console.warn(`${workspace}: delivery ${id}, attempt ${message.attempts}: answered ${response.status}`);
    if (verdict.kind === "refused") await bury(message, env);
    else message.retry({ delaySeconds: delayOf(message.attempts, verdict.retryAfterSeconds) });
  } catch (error) {
    console.warn(`${workspace}: delivery ${id}, attempt ${message.attempts}: ${String(error)}`);
    message.retry({ delaySeconds: delayOf(message.attempts) });
  }
}

/** Moves a dead letter back to the queue of deliveries, where its attempts start again. */
export async function replay(message: Message<Letter>, env: Env): Promise<void> {
  try {
    await env.DELIVERIES.send(message.body, { contentType: "json" });
    message.ack();
  } catch (error) {
    console.error(`${message.body.workspace}: cannot replay delivery ${message.body.id}: ${String(error)}`);
    message.retry();
  }
}

async function post(letter: Letter, env: Env): Promise<Response> {
  const workspace = findWorkspace(env, letter.workspace);
  if (workspace === undefined) throw new Error("the Worker no longer has a binding for this workspace");
  const response = await fetch(workspace.forwardTo, {
    ...readLetter(letter),
    redirect: "manual",
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  // An unread response would keep its connection open.
  await response.body?.cancel();
  return response;
}

/** Moves a message to the dead letters at once; the queue itself does so only after the last retry. */
async function bury(message: Message<Letter>, env: Env): Promise<void> {
  await env.DEAD_LETTERS.send(message.body, { contentType: "json" });
  message.ack();
}

/** The delay before the next attempt: 1 s, 2 s, 4 s … 1 h, or longer if the target requests it. */
function delayOf(attempts: number, retryAfterSeconds = 0): number {
  const backoff = Math.min(2 ** (attempts - 1), MAX_BACKOFF_SECONDS);
  return Math.min(Math.max(backoff, retryAfterSeconds), MAX_DELAY_SECONDS);
}
