import { once } from "node:events";
import { request as startRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { createResponder, signBody } from "../../../provider/responder/index.js";
import type { Answer, Delivery, DeliveryHandler, Responder } from "../../../provider/responder/index.js";
import { fromIncomingMessage, toNodeListener } from "../../../provider/responder/node.js";
import { head, sendRaw, startListener } from "../../support/http.ts";

const KEY = "the key of the node listener";

type Answering = Pick<Responder, "answer">;

/** Serves a responder, or what looks like one to the listener. */
const serve = async (responder: Answering): Promise<number> =>
  (await startListener(toNodeListener(responder))).port;

/** A responder that keeps what it is given. */
function keepDeliveries(bodyLimitBytes = 1024 * 1024): { responder: Responder; deliveries: Delivery[] } {
  const deliveries: Delivery[] = [];
  const onDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
  return { responder: createResponder({ verificationKeys: KEY, onDelivery, bodyLimitBytes }), deliveries };
}

describe("the node listener", () => {
  it("answers many deliveries on one connection", async () => {
    const { responder, deliveries } = keepDeliveries();
    const port = await serve(responder);
    const signature = await signBody(KEY, "{}");
    const one = head("POST /hook HTTP/1.1", [`x-hub-signature-256: ${signature}`, "content-length: 2"]);
    const last = one.replace("content-length", "connection: close\r\ncontent-length");
    const answer = await sendRaw(port, `${one}{}${one}{}${last}{}`);
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
    expect(deliveries).toHaveLength(3);
  });

  it("converts method, URL, headers, body and the answer", async () => {
    const seen: unknown[] = [];
    const port = await serve({
      async answer(request) {
        const body = String(await request.readBody(100));
        const headers = [...request.headers()].filter(([name]) => /many/i.test(name));
        const values = ["x-many", "set-cookie", "x-none"].map((name) => request.header(name));
        seen.push({ method: request.method, url: request.url, values, headers, body });
        return { status: 207, headers: { "x-other": "y" }, body: "olá" };
      },
    });
    const url = "//elsewhere.example/p%20q?x=1&x=2";
    const twice = ["x-many: 1", "X-Many: 2", "set-cookie: a=1", "set-cookie: b=2"];
    const headers = [...twice, "content-length: 2", "connection: close"];
    const answer = await sendRaw(port, `${head(`PUT ${url} HTTP/1.1`, headers)}{}`);
    const many = [
      ["x-many", "1"],
      ["X-Many", "2"],
    ];
    const values = ["1, 2", "a=1, b=2", undefined];
    const body = String(Buffer.from("{}"));
    expect(seen).toEqual([{ method: "PUT", url, values, headers: many, body }]);
    expect(answer).toMatch(/^HTTP\/1\.1 207 .*x-other: y\r\ncontent-length: 4\r\n.*\r\n\r\nolá$/s);
  });

  it("refuses a chunked body over the limit while it is still being sent, and ends the connection", async () => {
    const { responder, deliveries } = keepDeliveries(10_000);
    const port = await serve(responder);
    const socket = connect(port, "127.0.0.1");
    const chunk = `1000\r\n${"x".repeat(4096)}\r\n`;
    socket.write(head("POST / HTTP/1.1", ["transfer-encoding: chunked"]) + chunk.repeat(3));
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(/connection: close/i);
    expect(answer).toContain('"code":"body_too_large"');
    expect(deliveries).toEqual([]);
  });

  it("lets a sender that writes on read the answer to a body that is too large", async () => {
    const port = await serve(keepDeliveries().responder);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = startRequest({ port, host: "127.0.0.1", method: "POST" }, resolve).on("error", reject);
      request.end(Buffer.alloc(8 * 1024 * 1024));
    });
    expect(answer.statusCode).toBe(413);
    answer.resume();
  });

  it("answers a declared length over the limit without waiting for the body", async () => {
    const port = await serve(keepDeliveries().responder);
    const answer = await sendRaw(port, head("POST / HTTP/1.1", ["content-length: 2000000"]));
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("goes on after a sender that leaves in the middle of a body", async () => {
    const { responder, deliveries } = keepDeliveries();
    const answers: Answer[] = [];
    const port = await serve({
      async answer(request, context) {
        const answering = responder.answer(request, context);
        socket.resetAndDestroy();
        answers.push(await answering);
        return answering;
      },
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head("POST / HTTP/1.1", ["content-length: 100"])}half of`);
    await expect.poll(() => answers).toMatchObject([{ status: 400 }]);
    const body = "{}";
    const headers = { "x-hub-signature-256": await signBody(KEY, body) };
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers })).status).toBe(200);
    expect(deliveries).toHaveLength(1);
  });

  it("goes on after a sender that leaves before its answer", async () => {
    const answered: string[] = [];
    const port = await serve({
      async answer(request) {
        if (request.url === "/late") {
          await new Promise<void>((resolve) => socket.once("close", () => resolve()).resetAndDestroy());
        }
        answered.push(request.url);
        return { status: 200, headers: {}, body: "x".repeat(100_000) };
      },
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(head("GET /late HTTP/1.1", []));
    await expect.poll(() => answered).toHaveLength(1);
    expect(await sendRaw(port, head("GET / HTTP/1.1", ["connection: close"]))).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("answers a target in absolute form by its path, whatever the Host", async () => {
    const onDelivery = vi.fn<DeliveryHandler>();
    const port = await serve(createResponder({ verificationKeys: KEY, onDelivery, path: "/hook" }));
    const signature = `x-hub-signature-256: ${await signBody(KEY, "{}")}`;
    const line = "POST http://other.example/hook?x=1 HTTP/1.1";
    const request = [line, "host: a b", signature, "content-length: 2", "connection: close"];
    expect(await sendRaw(port, `${request.join("\r\n")}\r\n\r\n{}`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(onDelivery).toHaveBeenCalledOnce();
  });

  it.each([
    ["no body", "connection: close", ""],
    ["a whole body", "content-length: 5", "hello"],
    ["a body that never comes", "content-length: 5", ""],
  ])(
    "answers HEAD with %s without a body, with 405, and ends the connection",
    async (_what, header, body) => {
      const port = await serve(keepDeliveries().responder);
      const answer = await sendRaw(port, head("HEAD / HTTP/1.1", [header]) + body);
      expect(answer).toMatch(/^HTTP\/1\.1 405 .*allow: post.*connection: close.*\r\n\r\n$/is);
    },
  );

  it("processes nothing behind an answer that ends the connection: its sender will send it again", async () => {
    const { responder, deliveries } = keepDeliveries(10);
    const listener = toNodeListener(responder);
    const urls: (string | undefined)[] = [];
    const { port } = await startListener((req, res) => {
      urls.push(req.url);
      listener(req, res);
    });
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.write(head("POST /1 HTTP/1.1", ["content-length: 20"]));
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 .*connection: close/is);
    const signature = `x-hub-signature-256: ${await signBody(KEY, "{}")}`;
    socket.end(`${"x".repeat(20)}${head("POST /2 HTTP/1.1", [signature, "content-length: 2"])}{}`);
    await once(socket.resume(), "close");
    expect(urls).toEqual(["/1", "/2"]);
    expect(deliveries).toEqual([]);
  });

  it("answers 500 when the responder itself rejects, and reports it", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const port = await serve({
      answer: () => Promise.reject(new Error("a responder of one's own")),
    });
    expect(await sendRaw(port, head("POST / HTTP/1.1", ["content-length: 0"]))).toMatch(/^HTTP\/1\.1 500 /);
    expect(logged).toHaveBeenCalledOnce();
    logged.mockRestore();
  });
});

/** Serves a responder that is asked after something has treated the request in its own way. */
async function serveAfter(before: (req: IncomingMessage) => unknown) {
  const { responder, deliveries } = keepDeliveries();
  const answers: Answer[] = [];
  const listener = toNodeListener({
    async answer(request, context) {
      const answer = await responder.answer(request, context);
      answers.push(answer);
      return answer;
    },
  });
  const { port } = await startListener(
    (req, res) => void Promise.resolve(before(req)).then(() => listener(req, res)),
  );
  return { port, deliveries, answers };
}

describe("a body that something else has had in its hands", () => {
  it.each([
    ["read and thrown away", (req: IncomingMessage) => req.toArray()],
    ["turned into text on its way", (req: IncomingMessage) => req.setEncoding("utf8")],
  ])("gets 500 with the hint when it was %s", async (_name, spoil) => {
    const { port, deliveries } = await serveAfter(spoil);
    const headers = { "x-hub-signature-256": await signBody(KEY, "{}") };
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}", headers });
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      error: { code: "body_consumed", message: expect.stringMatching(/express\.raw/) as string },
    });
    expect(deliveries).toEqual([]);
  });

  it("is incomplete when its sender has left before the responder was asked", async () => {
    const { port, deliveries, answers } = await serveAfter((req) => {
      const closed = new Promise<void>((resolve) => req.on("error", () => undefined).once("close", resolve));
      socket.resetAndDestroy();
      return closed;
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head("POST / HTTP/1.1", ["content-length: 100"])}half of`);
    await expect.poll(() => answers).toMatchObject([{ status: 400 }]);
    expect(answers[0]?.body).toContain("body_incomplete");
    expect(deliveries).toEqual([]);
  });
});

it("fromIncomingMessage gives the target as the client wrote it, also under a router that has cut its own path off", async () => {
  const urls: string[] = [];
  const { port } = await startListener((req, res) => {
    urls.push(fromIncomingMessage(Object.assign(req, { originalUrl: req.url, url: "/cut" })).url);
    res.end();
  });
  await fetch(`http://127.0.0.1:${port}/router/hook?x=1`, { method: "POST" });
  expect(urls).toEqual(["/router/hook?x=1"]);
});
