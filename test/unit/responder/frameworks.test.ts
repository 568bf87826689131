import express, { type Express } from "express";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { createDelivery, createHandshake, createResponder } from "../../../provider/responder/index.js";
import type { Delivery } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import { startListener } from "../../support/http.ts";

const KEY = "the key of the frameworks";
const PATH = "/webhooks/apichat";
/** Encoded as PHP does: if anything parsed the body and encoded it again, its bytes would change. */
const BODY = '{"type":"text","text":"caf\\u00e9 \\/ ok"}';

const deliveries: Delivery[] = [];
const onDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
const listener = toNodeListener(createResponder({ verificationKeys: KEY, path: PATH, onDelivery }));

const serve = async (app: Express): Promise<string> => (await startListener(app)).url;

async function serveFastify(): Promise<string> {
  const app = Fastify();
  onTestFinished(() => app.close());
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    scope.all(PATH, (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
  });
  return app.listen({ port: 0, host: "127.0.0.1" });
}

const keepRawBody = express.json({
  verify: (req, _res, bytes) => void Object.assign(req, { rawBody: bytes }),
});

test.each<[string, () => Promise<string>]>([
  ["an Express route before a body parser", () => serve(express().all(PATH, listener).use(express.json()))],
  [
    "an Express router, with the whole path",
    () => serve(express().use("/webhooks", express.Router().all("/apichat", listener))),
  ],
  [
    "Express after express.raw",
    () =>
      serve(
        express()
          .use(express.raw({ type: () => true, limit: "2mb" }))
          .all(PATH, listener),
      ),
  ],
  [
    "Express after a JSON parser that keeps req.rawBody",
    () => serve(express().use(keepRawBody).all(PATH, listener)),
  ],
  ["Fastify with a content type parser that does not read the stream", serveFastify],
])("the listener works in %s", async (_where, start) => {
  deliveries.length = 0;
  const url = `${await start()}${PATH}`;
  const send = async (body: string): Promise<number> =>
    (await fetch(await createDelivery("text", { verificationKey: KEY, url, body }))).status;
  const response = await fetch(createHandshake({ verificationKey: KEY, url, challenge: "c1" }));
  expect([response.status, await response.text()]).toEqual([200, "c1"]);
  expect(await send(BODY)).toBe(200);
  expect(deliveries.map(({ rawBody }) => Buffer.from(rawBody).toString())).toEqual([BODY]);
  expect((await fetch(url, { method: "POST", body: BODY })).status).toBe(401);
  expect(await send("x".repeat(1024 * 1024 + 1))).toBe(413);
});
