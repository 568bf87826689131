import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { json, text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { createResponder, signBody } from "../../../provider/responder/index.js";
import type { Answer, Delivery, DeliveryHandler, Responder } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import { head, sendRaw, startListener } from "../../support/http.ts";

const KEY = "the key of the node listener";

type Answering = Pick<Responder, "answer">;

/** Serves a responder, or a stand-in for one. */
const serve = async (responder: Answering): Promise<number> =>
  (await startListener(toNodeListener(responder))).port;

/** A responder that records its deliveries. */
function keepDeliveries(bodyLimitBytes = 1024 * 1024): { responder: Responder; deliveries: Delivery[] } {
  const deliveries: Delivery[] = [];
  const onDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
  return { responder: createResponder({ verificationKeys: KEY, onDelivery, bodyLimitBytes }), deliveries };
}

describe("the node listener", () => {
  it("converts the target, repeated headers and the response", async () => {
    const seen: unknown[] = [];
    const port = await serve({
      async answer(request) {
        const headers = [...request.headers()].filter(([name]) => /many/i.test(name));
        seen.push(request.url, request.header("x-many"), request.header("set-cookie"), ...headers);
        return { status: 207, headers: { "x-other": "y" }, body: "olá" };
      },
    });
    const url = "//elsewhere.example/p%20q?x=1&x=2";
    const headers = ["x-many: 1", "X-Many: 2", "set-cookie: a=1", "set-cookie: b=2", "connection: close"];
    const answer = await sendRaw(port, head(`PUT ${url} HTTP/1.1`, headers));
    expect(seen).toEqual([url, "1, 2", "a=1, b=2", ["x-many", "1"], ["X-Many", "2"]]);
    expect(answer).toMatch(/^HTTP\/1\.1 207 .*x-other: y\r\ncontent-length: 4\r\n.*\r\n\r\nolá$/s);
  });

  it("rejects a chunked body over the limit while it is still being sent, and ends the connection", async () => {
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

  it("keeps at most 64 MiB of incomplete bodies, and closes the longest-idle connections beyond that", async () => {
    const { responder, deliveries } = keepDeliveries();
    const port = await serve(responder);
    const headers = [`x-hub-signature-256: sha256=${"0".repeat(64)}`, "content-length: 1048576"];
    const begun = head("POST / HTTP/1.1", headers) + "x".repeat(1_000_000);
    const sockets: Socket[] = [];
    for (let number = 0; number < 72; number += 1) {
      const socket = connect(port, "127.0.0.1")
        .on("error", () => undefined)
        .resume();
      sockets.push(socket);
      await new Promise((resolve) => socket.write(begun, resolve));
    }
    const closed = () => sockets.map((socket) => socket.closed);
    await expect.poll(() => closed().filter(Boolean).length).toBeGreaterThanOrEqual(5);
    const body = JSON.stringify({ type: "text", text: "x".repeat(1_000_000) });
    const signed = { "x-hub-signature-256": await signBody(KEY, body) };
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: signed, body });
    expect([answer.status, deliveries.length]).toEqual([200, 1]);
    // The listener closes roughly the oldest connections, and no more than needed.
    expect(closed().filter(Boolean).length).toBeLessThan(12);
    expect(closed().lastIndexOf(true)).toBeLessThan(20);
    for (const socket of sockets) socket.destroy();
  });

  it("uses the path of a target in absolute form, whatever the Host header contains", async () => {
    const onDelivery = vi.fn<DeliveryHandler>();
    const port = await serve(createResponder({ verificationKeys: KEY, onDelivery, path: "/hook" }));
    const signature = `x-hub-signature-256: ${await signBody(KEY, "{}")}`;
    const line = "POST http://other.example/hook?x=1 HTTP/1.1";
    const request = [line, "host: a b", signature, "content-length: 2", "connection: close"];
    expect(await sendRaw(port, `${request.join("\r\n")}\r\n\r\n{}`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(onDelivery).toHaveBeenCalledOnce();
  });

  it("responds with 500 and reports the error if the responder rejects", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const port = await serve({
      answer: () => Promise.reject(new Error("a responder of one's own")),
    });
    expect(await sendRaw(port, head("POST / HTTP/1.1", ["content-length: 0"]))).toMatch(/^HTTP\/1\.1 500 /);
    expect(logged).toHaveBeenCalledOnce();
    logged.mockRestore();
  });
});

/** Serves a responder behind other code that handles the request first. */
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

describe("a body that other code reads first", () => {
  it.each([
    ["read and discarded", (req: IncomingMessage) => req.toArray()],
    ["converted to text", (req: IncomingMessage) => req.setEncoding("utf8")],
    [
      "parsed as JSON, as express.json does",
      async (req: IncomingMessage) => Object.assign(req, { body: await json(req) }),
    ],
  ])("causes a 500 with a hint if it was %s", async (_name, spoil) => {
    const { port, deliveries } = await serveAfter(spoil);
    const headers = { "x-hub-signature-256": await signBody(KEY, "{}") };
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}", headers });
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      error: { code: "body_consumed", message: expect.stringMatching(/express\.raw/) as string },
    });
    expect(deliveries).toEqual([]);
  });

  it("counts as incomplete if its sender disconnects before the responder is called", async () => {
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
