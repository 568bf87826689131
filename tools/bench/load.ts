import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { VERIFICATION_KEY } from "./child.ts";

/** What one turn of load has seen. */
export interface LoadResult {
  ratePerSecond: number;
  p99Ms: number;
}

/**
 * Posts signed deliveries of 1 KiB over keep-alive connections, one at a time on each, and throws if one of them is not
 * answered with 2xx. It speaks HTTP over bare sockets: an HTTP client, and autocannon too, takes more time for a request than
 * the bare server that is measured, and would itself be what is measured.
 */
export async function sendDeliveries(
  url: string,
  { count, connections, signal }: { count: number; connections: number; signal: AbortSignal },
): Promise<LoadResult> {
  const request = formatDelivery(url);
  const times: number[] = [];
  let left = count;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      using sender = await openSender(url, request, signal);
      while (left-- > 0) times.push(await sender.send());
    }),
  );
  const ratePerSecond = (count * 1000) / (performance.now() - begun);
  const sorted = times.toSorted((a, b) => a - b);
  return { ratePerSecond, p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN };
}

function formatDelivery(url: string): Buffer {
  const message = { sender_id: "7", conv_id: 1, type: "text", message_type: "outgoing", private: false };
  const frame = JSON.stringify({ ...message, text: "" });
  const body = JSON.stringify({ ...message, text: "x".repeat(1024 - frame.length) });
  const signature = createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex");
  const headers = { "x-hub-signature-256": `sha256=${signature}`, "x-flow-ns": "f0", "x-action": "messages" };
  return formatPost(url, body, headers);
}

/** A whole request as it goes over the wire. */
export function formatPost(url: string, body: string, headers: Record<string, string>): Buffer {
  const { host, pathname } = new URL(url);
  const all = { host, "content-type": "application/json", "content-length": body.length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([`POST ${pathname} HTTP/1.1`, ...lines, "", body].join("\r\n"));
}

/** One keep-alive connection that sends the same request again and again. */
export interface Sender extends Disposable {
  /** Sends the request; gives the milliseconds until it is answered. */
  send(): Promise<number>;
}

/** The answers must have no body. One that is not 2xx rejects. */
export async function openSender(url: string, request: Buffer, signal: AbortSignal): Promise<Sender> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, signal });
  await once(socket, "connect");
  let waiting = Promise.withResolvers<void>();
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
    if (!received.endsWith("\r\n\r\n")) return;
    if (received.startsWith("HTTP/1.1 2")) waiting.resolve();
    else waiting.reject(new Error(`a request was answered: ${received.slice(0, 200)}`));
    received = "";
  });
  socket.on("error", (error) => waiting.reject(error));
  socket.on("close", () => waiting.reject(new Error(`the connection was closed: ${received.slice(0, 200)}`)));
  return {
    send: async () => {
      waiting = Promise.withResolvers<void>();
      const begun = performance.now();
      socket.write(request);
      await waiting.promise;
      return performance.now() - begun;
    },
    [Symbol.dispose]: () => {
      // Nobody waits for the promise any more that its end rejects.
      waiting.promise.catch(() => undefined);
      socket.destroy();
    },
  };
}
