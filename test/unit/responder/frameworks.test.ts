import express, { type Express } from "express";
import Fastify, { type FastifyInstance } from "fastify";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createDelivery, createHandshake, createResponder } from "../../../provider/responder/index.js";
import type { Delivery, Handshake, Responder } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import { startListener } from "../../support/http.ts";

const KEY = "the key of the frameworks";
/** PHP's encoding, which any parser in between would change. */
const BODY = '{"type":"text","text":"caf\\u00e9 \\/ ok"}';

let deliveries: Delivery[] = [];
let handshakes: Handshake[] = [];

beforeEach(() => {
  deliveries = [];
  handshakes = [];
});

const create = (path?: string): Responder =>
  createResponder({
    verificationKeys: KEY,
    onDelivery: (delivery) => void deliveries.push(delivery),
    onHandshake: (handshake) => void handshakes.push(handshake),
    ...(path === undefined ? {} : { path }),
  });

const send = async (url: string, body: string | Uint8Array = BODY): Promise<Response> =>
  fetch(await createDelivery("text", { verificationKey: KEY, url, body }));

/** Expects an endpoint to accept handshakes in every encoding and deliveries byte for byte, and nothing else. */
async function expectWorkingEndpoint(url: string): Promise<void> {
  for (const encoding of ["form", "json", "multipart", "query"] as const) {
    const response = await fetch(createHandshake({ verificationKey: KEY, url, encoding, challenge: "c1" }));
    expect([response.status, await response.text()]).toEqual([200, "c1"]);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  }
  expect(handshakes.map((handshake) => handshake.url)).toEqual(Array(4).fill(new URL(url).pathname));
  expect((await send(url)).status).toBe(200);
  expect(deliveries.map(({ rawBody }) => Buffer.from(rawBody).toString())).toEqual([BODY]);
  expect((await fetch(url)).status).toBe(405);
  expect((await fetch(url, { method: "POST", body: BODY })).status).toBe(401);
  expect((await send(url, "x".repeat(1024 * 1024 + 1))).status).toBe(413);
  expect(deliveries).toHaveLength(1);
}

const PATH = "/webhooks/apichat";

const serveExpress = async (mount: (app: Express) => unknown): Promise<string> => {
  const app = express();
  mount(app);
  return `${(await startListener(app)).url}${PATH}`;
};

describe("Express", () => {
  it.each<[string, (app: Express) => unknown]>([
    ["in a route before a body parser", (app) => app.all(PATH, toNodeListener(create())).use(express.json())],
    [
      "in a router, with the whole path",
      (app) => app.use("/webhooks", express.Router().all("/apichat", toNodeListener(create(PATH)))),
    ],
    [
      "after express.raw",
      (app) => app.use(express.raw({ type: () => true, limit: "2mb" })).all(PATH, toNodeListener(create())),
    ],
  ])("supports the listener %s", async (_how, mount) => {
    await expectWorkingEndpoint(await serveExpress(mount));
  });

  it("supports the listener after a JSON parser that keeps req.rawBody", async () => {
    const parser = express.json({
      verify: (req, _res, bytes) => void Object.assign(req, { rawBody: bytes }),
    });
    const url = await serveExpress((app) => app.use(parser).all(PATH, toNodeListener(create())));
    expect((await send(url)).status).toBe(200);
    expect(deliveries.map(({ rawBody }) => Buffer.from(rawBody).toString())).toEqual([BODY]);
  });
});

/** Starts an app whose route calls the listener. */
async function serveFastify(prepare: (scope: FastifyInstance) => unknown): Promise<string> {
  const listener = toNodeListener(create(PATH));
  const app = Fastify();
  onTestFinished(() => app.close());
  await app.register(async (scope) => {
    prepare(scope);
    scope.all(PATH, (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
  });
  // Other routes still parse JSON.
  app.post("/json", (request) => request.body);
  return app.listen({ port: 0, host: "127.0.0.1" });
}

describe("Fastify", () => {
  it("supports the listener with a content type parser that does not read the stream", async () => {
    const origin = await serveFastify((scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    });
    await expectWorkingEndpoint(`${origin}${PATH}`);
    const headers = { "content-type": "application/json" };
    const parsed = await fetch(`${origin}/json`, { method: "POST", body: '{"a":1}', headers });
    expect(await parsed.json()).toEqual({ a: 1 });
  });
});
