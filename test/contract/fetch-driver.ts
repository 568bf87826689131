import type { SentRequest, Send } from "./responder-contract.ts";

/** Calls the responder's `fetch`, as Workers, Bun and Deno do. */
export const sendAsRequest: Send = async (responder, sent) => {
  const response = await responder(toRequest(sent));
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
};

function toRequest({ method, target, headers, body, transfer }: SentRequest): Request {
  const init = { method, headers: headers.map(([name, value]): [string, string] => [name, value]) };
  if (transfer === "broken off") {
    return new Request(`https://chat.acme.example${target}`, {
      ...init,
      body: breakOff(body),
      duplex: "half",
    });
  }
  const whole = body.length === 0 ? null : new Uint8Array(body);
  const sentBody = transfer === "whole" ? whole : toChunks(body, transfer.chunkBytes);
  return new Request(`https://chat.acme.example${target}`, { ...init, body: sentBody, duplex: "half" });
}

function toChunks(body: Uint8Array, chunkBytes: number): ReadableStream<Uint8Array> {
  let offset = 0;
  return new ReadableStream({
    pull(controller) {
      if (offset >= body.length) return controller.close();
      controller.enqueue(body.slice(offset, (offset += chunkBytes)));
    },
  });
}

function breakOff(body: Uint8Array): ReadableStream<Uint8Array> {
  const half = body.slice(0, body.length / 2);
  let isSent = false;
  return new ReadableStream({
    pull(controller) {
      if (isSent) return controller.error(new Error("the sender has disconnected"));
      isSent = true;
      controller.enqueue(half);
    },
  });
}
