import { beforeEach, describe, expect, it, vi } from "vitest";
import { createDelivery, createResponder, UnavailableError } from "../../../provider/responder/index.js";
import type { Delivery, DeliveryHandler, ResponderOptions } from "../../../provider/responder/index.js";

// What the fetch form has beside the contract of all runtimes (test/contract): how a body is read, and what handlers do.

const KEY = "key/with+signs=";
const SECRETS = [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString("base64")];
const BODY = '{"type":"text","text":"a private message"}';

let deliveries: Delivery[] = [];
const logged = vi.spyOn(console, "error");

beforeEach(() => {
  deliveries = [];
  logged.mockReset().mockImplementation(() => undefined);
});

const respond = async (
  request: Request,
  options: Partial<ResponderOptions> = {},
  ...runtime: unknown[]
): Promise<Response> => {
  const responder = createResponder({
    verificationKeys: KEY,
    onDelivery: (delivery) => void deliveries.push(delivery),
    ...options,
  });
  const response = await responder(request, ...runtime);
  const shown = [await response.clone().text(), ...logged.mock.calls.flat().map(String)].join("\n");
  for (const secret of SECRETS) expect(shown).not.toContain(secret);
  return response;
};
const post = (body: RequestInit["body"], headers: Record<string, string> = {}): Request =>
  new Request("http://localhost/hook", { method: "POST", body, headers, duplex: "half" });
const delivery = (): Promise<Request> => createDelivery("text", { verificationKey: KEY, body: BODY });
const readCode = async (response: Response): Promise<unknown> => {
  const { error } = (await response.json()) as { error: { code: unknown } };
  return [response.status, error.code];
};
const fail = (error: unknown) => (): never => {
  throw error;
};

/** A body in pieces, without a length; counts what is taken of it. */
const streamPieces = (pieceBytes: number, pieces: number): { body: ReadableStream; taken: () => number } => {
  let taken = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (taken === pieces) return controller.close();
      taken++;
      controller.enqueue(new Uint8Array(pieceBytes).fill(97));
    },
  });
  return { body, taken: () => taken };
};

describe("a body", () => {
  it("whose content-length is over the limit is not read", async () => {
    const { body, taken } = streamPieces(10, 3);
    const before = taken();
    expect((await respond(post(body, { "content-length": "2000000" }))).status).toBe(413);
    expect(taken() - before).toBeLessThanOrEqual(1);
  });

  it.each<[string, (request: Request) => unknown]>([
    ["has read before", (request) => request.json()],
    ["is reading", (request) => request.body?.getReader()],
  ])("that something else %s gets 500 with the hint", async (_what, read) => {
    const request = await delivery();
    await read(request);
    const response = await respond(request);
    expect(await response.clone().text()).toContain("before any body parser");
    expect(await readCode(response)).toEqual([500, "body_consumed"]);
  });
});

it("keeps every digit of a conv_id, and of nothing that looks like one", async () => {
  const others = { other: 2 ** 60, text: '"conv_id":9007199254740993' };
  const rest = JSON.stringify(others).slice(1);
  const body = `{"conv_id" :\n123456789012345678901234567890,${rest}`;
  await respond(await createDelivery("text", { verificationKey: KEY, body }));
  expect(deliveries[0]?.message).toEqual({ conv_id: 123456789012345678901234567890n, ...others });
});

describe("the handler", () => {
  it("has the request and the body's bytes, and is done before the answer", async () => {
    const order: unknown[] = [];
    const onDelivery: DeliveryHandler = async ({ rawBody }, { request }) => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push(Buffer.from(rawBody).toString(), request.method, request.url, [...request.headers()]);
    };
    const request = await delivery();
    await respond(request, { onDelivery });
    order.push("answered");
    expect(order).toEqual([BODY, "POST", "http://localhost/", [...request.headers], "answered"]);
  });

  const encoded = encodeURIComponent(KEY);
  it.each<[string, DeliveryHandler]>([
    ["throws", fail(new Error(`queue full ${KEY}`))],
    ["rejects", () => Promise.reject(new Error("no", { cause: new Error(`queue full ${encoded}`) }))],
    ["throws what is no error", fail(`queue full ${Buffer.from(KEY).toString("base64")}`)],
    ["throws what cannot be written as text", fail(Object.create(null))],
  ])("that %s gives 500, and is reported without key and message", async (what, onDelivery) => {
    const response = await respond(await delivery(), { onDelivery });
    expect(await response.clone().text()).not.toContain("queue full");
    expect(await readCode(response)).toEqual([500, "handler_failed"]);
    expect(logged).toHaveBeenCalledOnce();
    const report = String(logged.mock.calls[0]?.[0]);
    expect(report).toContain(what.endsWith("as text") ? "thrown: object" : "queue full");
    expect(report.includes("responder.test.ts")).toBe(!what.startsWith("throws what"));
    expect(report).not.toContain("private");
  });

  it.each([
    [{}, "5"],
    [{ retryAfterSeconds: 0 }, "0"],
    [{ retryAfterSeconds: 0.2 }, "1"],
    [{ retryAfterSeconds: -3 }, "0"],
  ])(
    "with an UnavailableError of %j gives 503 with Retry-After %s, and no report",
    async (options, after) => {
      const error = new UnavailableError("the disk is full", { ...options, cause: "ENOSPC" });
      expect(error.cause).toBe("ENOSPC");
      const response = await respond(await delivery(), { onDelivery: fail(error) });
      expect(response.headers.get("retry-after")).toBe(after);
      expect(await response.clone().text()).not.toContain("disk");
      expect(await readCode(response)).toEqual([503, "unavailable"]);
      expect(logged).not.toHaveBeenCalled();
    },
  );
});

/** A handler that leaves work behind. */
const leaving =
  (work: () => Promise<unknown>): DeliveryHandler =>
  (_delivery, { waitUntil }) =>
    waitUntil(work());

describe("waitUntil", () => {
  it("hands the work to the runtime that gives a context as its third argument", async () => {
    const kept: Promise<unknown>[] = [];
    const context = {
      waitUntil(promise: Promise<unknown>) {
        // Workers refuse a call without their object.
        if (this !== context) throw new TypeError("Illegal invocation");
        kept.push(promise);
      },
    };
    const { promise: work, resolve } = Promise.withResolvers<string>();
    const onDelivery = leaving(() => work);
    expect((await respond(await delivery(), { onDelivery }, { KEY: "binding" }, context)).status).toBe(200);
    resolve("done");
    expect(await Promise.all(kept)).toEqual(["done"]);
  });

  it.each([
    ["without a context", []],
    ["beside what Bun and Deno give", [{ remoteAddr: { hostname: "127.0.0.1" } }]],
    ["beside nothing at all", [undefined, null]],
  ])("works %s", async (_name, runtime) => {
    const work = vi.fn<() => Promise<void>>(() => Promise.resolve());
    expect((await respond(await delivery(), { onDelivery: leaving(work) }, ...runtime)).status).toBe(200);
    expect(work).toHaveBeenCalledOnce();
  });
});
