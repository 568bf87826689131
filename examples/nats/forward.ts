import type { JsMsg } from "@nats-io/jetstream";
import { DELIVERY_ID_HEADER, judgeForward, type ForwardVerdict } from "pulumi-apichat/responder";
import { DEAD_LETTERS, type Queue } from "./queue.ts";

const FORWARD_WITHIN_MS = 24 * 60 * 60 * 1000;

export type Workspaces = Record<string, { forwardTo: string }>;

/**
 * Forwards deliveries: all partitions concurrently, each partition in order. Ends when the connection is closed.
 */
export async function forwardAll(queue: Queue, workspaces: Workspaces): Promise<void> {
  const forwardPartition = async (consumer: Queue["consumers"][number]): Promise<void> => {
    for await (const message of await consumer.consume({ max_messages: 2 })) {
      await forward(message, queue, workspaces).catch((error: unknown) => retry(message, String(error)));
    }
  };
  await Promise.all(queue.consumers.map(forwardPartition));
}

async function forward(message: JsMsg, { client }: Queue, workspaces: Workspaces): Promise<void> {
  const isLate = Date.now() - message.time.getTime() > FORWARD_WITHIN_MS;
  const verdict: ForwardVerdict = isLate ? { kind: "refused" } : await post(message, workspaces);
  if (verdict.kind === "retry") return retry(message, "not accepted", verdict.retryAfterSeconds);
  if (verdict.kind === "refused")
    await client.publish(DEAD_LETTERS, message.data, {
      headers: message.headers,
      msgID: valueOf(message, "Nats-Msg-Id"),
    });
  message.ack();
}

async function post(message: JsMsg, workspaces: Workspaces): Promise<ForwardVerdict> {
  const { forwardTo } = workspaces[valueOf(message, "apichat-workspace")] ?? {};
  if (forwardTo === undefined) throw new Error("its workspace is not in the configuration");
  const headers = new Headers(JSON.parse(valueOf(message, "apichat-headers")) as [string, string][]);
  headers.set(DELIVERY_ID_HEADER, valueOf(message, "Nats-Msg-Id"));
  const body = new Uint8Array(message.data);
  const signal = AbortSignal.timeout(20_000);
  const response = await fetch(forwardTo, { method: "POST", headers, body, signal, redirect: "manual" });
  await response.body?.cancel();
  return judgeForward(response.status, response.headers.get("retry-after"));
}

/**
 * Retries after 1 s, 2 s, 4 s … 5 minutes, or later if the target asks for it. Meanwhile, later deliveries of the
 * partition wait.
 */
function retry(message: JsMsg, reason: string, retryAfterSeconds = 0): void {
  const attempt = message.info.deliveryCount;
  console.warn(`delivery ${valueOf(message, "Nats-Msg-Id")}, attempt ${attempt}: ${reason}`);
  message.nak(1000 * Math.max(Math.min(2 ** (attempt - 1), 300), retryAfterSeconds));
}

const valueOf = (message: JsMsg, header: string): string => message.headers?.get(header) ?? "";
