import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { createResponder, signBody } from "../../../provider/responder/index.js";
import type { Answer, Delivery } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import { head, startListener } from "../../support/http.ts";

const KEY = "the key of the kept bodies";

const readBytes = async (req: IncomingMessage): Promise<Buffer> => Buffer.concat(await req.toArray());
const keepBytes = async (req: IncomingMessage): Promise<unknown> =>
  Object.assign(req, { body: await readBytes(req) });

interface Served {
  port: number;
  deliveries: Delivery[];
  answers: Answer[];
}

/** Serves a responder that is asked after something has treated the request in its own way. */
async function serveAfter(
  before: (req: IncomingMessage) => unknown,
  bodyLimitBytes?: number,
): Promise<Served> {
  const deliveries: Delivery[] = [];
  const answers: Answer[] = [];
  const responder = createResponder({
    verificationKeys: KEY,
    onDelivery: (delivery) => void deliveries.push(delivery),
    ...(bodyLimitBytes === undefined ? {} : { bodyLimitBytes }),
  });
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

const post = async (port: number, body = "{}"): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}/`, {
    method: "POST",
    body,
    headers: { "x-hub-signature-256": await signBody(KEY, body) },
  });

describe("a body that something else has had in its hands", () => {
  it.each([
    ["req.body", keepBytes],
    [
      "req.rawBody beside a parsed req.body",
      async (req: IncomingMessage) => Object.assign(req, { rawBody: await readBytes(req), body: { a: 1 } }),
    ],
    [
      "req.body, as a Uint8Array",
      async (req: IncomingMessage) => Object.assign(req, { body: new Uint8Array(await readBytes(req)) }),
    ],
  ])("is taken from %s when it was kept as bytes", async (_name, keep) => {
    const { port, deliveries } = await serveAfter(keep);
    expect((await post(port)).status).toBe(200);
    expect(Buffer.from(deliveries[0]?.rawBody ?? []).toString()).toBe("{}");
  });

  it("gets 413 when the kept bytes are over the limit", async () => {
    const { port } = await serveAfter(keepBytes, 10);
    expect((await post(port, "12345678901")).status).toBe(413);
  });

  it.each([
    [
      "parsed",
      async (req: IncomingMessage) =>
        Object.assign(req, { body: JSON.parse(String(await readBytes(req))) as unknown }),
    ],
    [
      "read as text",
      async (req: IncomingMessage) => Object.assign(req, { body: String(await readBytes(req)) }),
    ],
    ["read and thrown away", readBytes],
    ["turned into text on its way", (req: IncomingMessage) => req.setEncoding("utf8")],
  ])("gets 500 with the hint when it was %s", async (_name, spoil) => {
    const { port, deliveries } = await serveAfter(spoil);
    const response = await post(port);
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
