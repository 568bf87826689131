import express, { type Express } from "express";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { createDelivery, createHandshake, createResponder } from "../../../provider/responder/index.js";
import type { Delivery, Handshake, Responder } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import { startListener } from "../../support/http.ts";

const KEY = "the key of the frameworks";
/** As PHP writes it: any parser in between would lose it. */
const BODY = '{"type":"text","text":"caf\\u00e9 \\/ ok"}';

let deliveries: Delivery[] = [];
let handshakes: Handshake[] = [];
const fastifies: FastifyInstance[] = [];

afterEach(async () => {
  deliveries = [];
  handshakes = [];
  await Promise.all(fastifies.splice(0).map((app) => app.close()));
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

/** Expects an endpoint to take handshakes in every encoding and deliveries byte for byte, and nothing else. */
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

async function expectParsedBodyExplained(url: string): Promise<void> {
  const response = await send(url);
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({
    error: {
      code: "body_consumed",
      message: expect.stringMatching(
        /before any body parser.*express\.raw\(\{ type: \(\) => true \}\)/,
      ) as string,
    },
  });
  expect(deliveries).toEqual([]);
}

const serve = async (app: Express): Promise<string> => (await startListener(app)).url;

describe("Express", () => {
  it("takes the listener as a handler of a route", async () => {
    const app = express();
    app.all("/webhooks/apichat", toNodeListener(create()));
    app.use(express.json());
    await expectWorkingEndpoint(`${await serve(app)}/webhooks/apichat`);
  });

  it("takes it under a router; the path is the whole one", async () => {
    const router = express.Router();
    router.all("/apichat", toNodeListener(create("/webhooks/apichat")));
    const app = express();
    app.use("/webhooks", router);
    await expectWorkingEndpoint(`${await serve(app)}/webhooks/apichat`);
  });

  it("takes it as mounted middleware", async () => {
    const app = express();
    app.use("/webhooks/apichat", toNodeListener(create("/webhooks/apichat")));
    await expectWorkingEndpoint(`${await serve(app)}/webhooks/apichat`);
  });

  it("takes it after express.raw, which keeps the bytes", async () => {
    const app = express();
    app.use(express.raw({ type: () => true, limit: "2mb" }));
    app.all("/webhooks/apichat", toNodeListener(create()));
    await expectWorkingEndpoint(`${await serve(app)}/webhooks/apichat`);
  });

  it("takes it after a JSON parser that keeps the bytes as req.rawBody", async () => {
    const app = express();
    app.use(
      express.json({
        limit: "2mb",
        verify: (req, _res, bytes) => void Object.assign(req, { rawBody: bytes }),
      }),
    );
    app.all("/webhooks/apichat", toNodeListener(create()));
    const url = `${await serve(app)}/webhooks/apichat`;
    expect((await send(url)).status).toBe(200);
    expect(deliveries.map(({ rawBody }) => Buffer.from(rawBody).toString())).toEqual([BODY]);
  });

  it.each([
    ["express.json", express.json()],
    ["express.text", express.text({ type: () => true })],
  ])("after %s is told how to fix it", async (_name, parser) => {
    const app = express();
    app.use(parser);
    app.all("/webhooks/apichat", toNodeListener(create()));
    await expectParsedBodyExplained(`${await serve(app)}/webhooks/apichat`);
  });
});

function createApp(): FastifyInstance {
  const app = Fastify();
  fastifies.push(app);
  return app;
}

describe("Fastify", () => {
  it("takes the listener when its content type parser leaves the stream", async () => {
    const listener = toNodeListener(create("/webhooks/apichat"));
    const app = createApp();
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
      scope.all("/webhooks/apichat", (request, reply) => {
        reply.hijack();
        listener(request.raw, reply.raw);
      });
    });
    // Beside it, JSON is parsed as ever.
    app.post("/json", (request) => request.body);
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    await expectWorkingEndpoint(`${origin}/webhooks/apichat`);
    const headers = { "content-type": "application/json" };
    const parsed = await fetch(`${origin}/json`, { method: "POST", body: '{"a":1}', headers });
    expect(await parsed.json()).toEqual({ a: 1 });
  });

  it("takes it when its content type parser keeps the bytes", async () => {
    const listener = toNodeListener(create());
    const app = createApp();
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      const parser = { parseAs: "buffer", bodyLimit: 2 * 1024 * 1024 } as const;
      scope.addContentTypeParser("*", parser, (_request, bytes, done) => done(null, bytes));
      scope.all("/webhooks/apichat", (request, reply) => {
        reply.hijack();
        listener(Object.assign(request.raw, { body: request.body }), reply.raw);
      });
    });
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    await expectWorkingEndpoint(`${origin}/webhooks/apichat`);
  });

  it("that has parsed the body itself is told how to fix it", async () => {
    const listener = toNodeListener(create());
    const app = createApp();
    app.post("/webhooks/apichat", (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    await expectParsedBodyExplained(`${origin}/webhooks/apichat`);
  });
});
