import { createServer, request as startRequest } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createResponder, signBody } from "../../../provider/responder/index.js";
import type { Delivery, Responder } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";

const KEY = "the key of the node listener";
let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

async function listen(responder: Responder): Promise<number> {
  const started = createServer(toNodeListener(responder));
  server = started;
  await new Promise<void>((resolve) => started.listen(0, "127.0.0.1", resolve));
  const address = started.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

/** A responder that keeps what it is given. */
function keepDeliveries(bodyLimitBytes = 1024 * 1024): { responder: Responder; deliveries: Delivery[] } {
  const deliveries: Delivery[] = [];
  const onDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
  return { responder: createResponder({ verificationKeys: KEY, onDelivery, bodyLimitBytes }), deliveries };
}

/** Sends bytes as they are and gives everything that comes back until the connection ends. */
async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(text);
  return readToEnd(socket);
}

async function readToEnd(socket: Socket): Promise<string> {
  let answer = "";
  for await (const chunk of socket.setEncoding("utf8")) answer += String(chunk);
  return answer;
}

const head = (line: string, headers: string[]): string =>
  [line, "host: localhost", ...headers, "", ""].join("\r\n");

describe("the node listener", () => {
  it("gives a delivery to the handler, byte for byte", async () => {
    const { responder, deliveries } = keepDeliveries();
    const port = await listen(responder);
    const body = Buffer.from('{"text":"ol\u00e1 🎉","url":"https:\\/\\/x"}');
    const response = await fetch(`http://127.0.0.1:${port}/hook`, {
      method: "POST",
      body,
      headers: {
        "x-hub-signature-256": await signBody(KEY, body),
        "x-flow-ns": "f1",
        "x-action": "messages",
      },
    });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(deliveries).toMatchObject([{ flowNs: "f1", action: "messages", keyIndex: 0 }]);
    expect(Buffer.from(deliveries[0]?.rawBody ?? [])).toEqual(body);
  });

  it("answers a handshake in form, JSON and query", async () => {
    const port = await listen(keepDeliveries().responder);
    const parameters = { hub_mode: "subscribe", hub_verify_token: KEY, hub_challenge: "c4a11e" };
    const url = `http://127.0.0.1:${port}/hook`;
    const query = new URLSearchParams(parameters);
    for (const [target, body] of [
      [url, query],
      [url, JSON.stringify(parameters)],
      [`${url}?${query.toString()}`, ""],
    ] as const) {
      const response = await fetch(target, { method: "POST", body });
      expect([response.status, await response.text()]).toEqual([200, "c4a11e"]);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("answers many deliveries on one connection", async () => {
    const { responder, deliveries } = keepDeliveries();
    const port = await listen(responder);
    const signature = await signBody(KEY, "{}");
    const one = head("POST /hook HTTP/1.1", [`x-hub-signature-256: ${signature}`, "content-length: 2"]);
    const last = one.replace("content-length", "connection: close\r\ncontent-length");
    const answer = await sendRaw(port, `${one}{}${one}{}${last}{}`);
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
    expect(deliveries).toHaveLength(3);
  });

  it("keeps repeated headers apart from single ones: two signatures are refused", async () => {
    const port = await listen(keepDeliveries().responder);
    const line = `x-hub-signature-256: ${await signBody(KEY, "{}")}`;
    const request = head("POST / HTTP/1.1", [line, line, "content-length: 2", "connection: close"]);
    expect(await sendRaw(port, `${request}{}`)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("converts method, URL, headers and the answer", async () => {
    const seen: [string, string, string | null][] = [];
    const port = await listen((request) => {
      seen.push([request.method, request.url, request.headers.get("x-many")]);
      const headers: [string, string][] = [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["x-other", "y"],
      ];
      return Promise.resolve(new Response(Uint8Array.of(0, 255, 128), { status: 207, headers }));
    });
    const target = "//elsewhere.example/p%20q?x=1&x=2";
    const answer = await sendRaw(
      port,
      head(`PUT ${target} HTTP/1.1`, ["x-many: 1", "X-Many: 2", "connection: close"]),
    );
    expect(seen).toEqual([["PUT", `http://localhost${target}`, "1, 2"]]);
    expect(answer).toMatch(/^HTTP\/1\.1 207 /);
    expect(answer).toMatch(/set-cookie: a=1\r\nset-cookie: b=2/);
    expect(answer).toMatch(/content-length: 3/);
  });

  it("refuses a chunked body over the limit while it is still being sent, and ends the connection", async () => {
    const { responder, deliveries } = keepDeliveries(10_000);
    const port = await listen(responder);
    const socket = connect(port, "127.0.0.1");
    const chunk = `1000\r\n${"x".repeat(4096)}\r\n`;
    socket.write(head("POST / HTTP/1.1", ["transfer-encoding: chunked"]) + chunk.repeat(3));
    const answer = await readToEnd(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(/connection: close/i);
    expect(answer).toContain('"code":"body_too_large"');
    expect(deliveries).toEqual([]);
  });

  it("lets a sender that writes on read the answer to a body that is too large", async () => {
    const port = await listen(keepDeliveries().responder);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = startRequest({ port, host: "127.0.0.1", method: "POST" }, resolve).on("error", reject);
      request.end(Buffer.alloc(8 * 1024 * 1024));
    });
    expect(answer.statusCode).toBe(413);
    answer.resume();
  });

  it("answers a declared length over the limit without waiting for the body", async () => {
    const port = await listen(keepDeliveries().responder);
    const answer = await sendRaw(port, head("POST / HTTP/1.1", ["content-length: 2000000"]));
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("goes on after a sender that leaves in the middle of a body", async () => {
    const { responder, deliveries } = keepDeliveries();
    const statuses: number[] = [];
    const port = await listen(async (request) => {
      const response = await responder(request);
      statuses.push(response.status);
      return response;
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head("POST / HTTP/1.1", ["content-length: 100"])}half of`);
    socket.once("connect", () => setImmediate(() => socket.resetAndDestroy()));
    await vi.waitFor(() => expect(statuses).toEqual([400]));
    const body = "{}";
    const headers = { "x-hub-signature-256": await signBody(KEY, body) };
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers })).status).toBe(200);
    expect(deliveries).toHaveLength(1);
  });

  it("goes on after a sender that leaves before its answer", async () => {
    const answered: string[] = [];
    const port = await listen(async (request) => {
      await new Promise<void>((resolve) => socket.once("close", () => resolve()).resetAndDestroy());
      answered.push(request.url);
      return new Response("x".repeat(100_000));
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(head("GET /late HTTP/1.1", []));
    await vi.waitFor(() => expect(answered).toHaveLength(1));
    expect(server?.listening).toBe(true);
  });

  it.each([
    ["a Host that is none", "POST / HTTP/1.1\r\nhost: a b\r\ncontent-length: 0\r\n\r\n"],
    ["the method TRACE", head("TRACE / HTTP/1.1", [])],
  ])("answers 400 to %s", async (_name, request) => {
    const port = await listen(keepDeliveries().responder);
    expect(await sendRaw(port, request)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("answers HEAD without a body, with 405", async () => {
    const port = await listen(keepDeliveries().responder);
    const answer = await sendRaw(port, head("HEAD / HTTP/1.1", ["connection: close"]));
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer.toLowerCase()).toContain("allow: post");
    expect(answer.endsWith("\r\n\r\n")).toBe(true);
  });

  it("answers 500 when the responder itself rejects, and reports it", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const port = await listen(() => Promise.reject(new Error("a responder of one's own")));
    expect(await sendRaw(port, head("POST / HTTP/1.1", ["content-length: 0"]))).toMatch(/^HTTP\/1\.1 500 /);
    expect(logged).toHaveBeenCalledOnce();
    logged.mockRestore();
  });
});
