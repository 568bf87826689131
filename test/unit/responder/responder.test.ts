import { beforeEach, describe, expect, it, vi } from "vitest";
import { createResponder, signBody } from "../../../provider/responder/index.js";
import type { Delivery, ResponderOptions } from "../../../provider/responder/index.js";

const KEY = "key/with+signs=";
const OLD_KEY = "the key before this one";
const MESSAGE = {
  sender_id: "7",
  conv_id: 12,
  type: "text",
  message_type: "outgoing",
  private: false,
  text: "olá 🎉",
};
const MIB = 1024 * 1024;

let deliveries: Delivery[] = [];
const logged = vi.spyOn(console, "error");

beforeEach(() => {
  deliveries = [];
  logged.mockReset().mockImplementation(() => undefined);
});
const SECRETS = [KEY, OLD_KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString("base64")];
const keepDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
const ignoreDelivery = (): void => undefined;
const failToQueue = (): void => {
  throw new TypeError("no such queue");
};
const failWithoutText = (): void => {
  throw Object.create(null);
};

const respond = async (request: Request, options: Partial<ResponderOptions> = {}): Promise<Response> => {
  const response = await createResponder({
    verificationKeys: [KEY, OLD_KEY],
    onDelivery: keepDelivery,
    ...options,
  })(request);
  const shown = [await response.clone().text(), ...logged.mock.calls.flat().map(String)].join("\n");
  for (const secret of SECRETS) expect(shown).not.toContain(secret);
  return response;
};
const post = (body: RequestInit["body"], headers: Record<string, string> = {}): Request =>
  new Request("http://localhost/hook", { method: "POST", body, headers, duplex: "half" });
const postSigned = async (body: string, key = KEY): Promise<Request> =>
  post(body, {
    "x-hub-signature-256": await signBody(key, body),
    "x-flow-ns": "f12",
    "x-action": "messages",
  });
/** Gives the error of an answer that has nothing else in it. */
const readError = async (response: Response): Promise<unknown> => {
  expect(response.headers.get("content-type")).toBe("application/json");
  const body: unknown = await response.json();
  expect(body).toEqual({
    error: { code: expect.any(String) as string, message: expect.any(String) as string },
  });
  return body;
};
const error = (code: string, message = /./): unknown => ({
  error: { code, message: expect.stringMatching(message) as string },
});
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

describe("a signed delivery", () => {
  it("reaches the handler whole and is answered with 200", async () => {
    const body = JSON.stringify(MESSAGE);
    const response = await respond(await postSigned(body));
    expect(response.status).toBe(200);
    expect(deliveries).toEqual([
      {
        kind: "text",
        message: MESSAGE,
        rawBody: new TextEncoder().encode(body),
        flowNs: "f12",
        action: "messages",
        keyIndex: 0,
      },
    ]);
  });

  it("is verified with every key, and says with which", async () => {
    expect((await respond(await postSigned("{}", OLD_KEY))).status).toBe(200);
    expect(deliveries).toMatchObject([{ keyIndex: 1 }]);
  });

  it("needs neither x-flow-ns nor x-action", async () => {
    await respond(post("{}", { "x-hub-signature-256": await signBody(KEY, "{}") }));
    expect(deliveries).toMatchObject([{ flowNs: undefined, action: undefined }]);
  });

  it("is acknowledged only when the handler is done", async () => {
    const order: string[] = [];
    const onDelivery = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push("handled");
    };
    await respond(await postSigned("{}"), { onDelivery });
    order.push("answered");
    expect(order).toEqual(["handled", "answered"]);
  });

  it.each(["", "{", "null null", "sender_id=7"])("gets 400 when its body is %j", async (body) => {
    const response = await respond(await postSigned(body));
    expect(response.status).toBe(400);
    expect(await readError(response)).toEqual(error("invalid_json"));
    expect(deliveries).toEqual([]);
  });
});

describe("a delivery that is not signed with a key of ours", () => {
  it("gets 401 without a signature, and is told which header is missing", async () => {
    const response = await respond(post("{}"));
    expect(response.status).toBe(401);
    expect(await readError(response)).toEqual(error("invalid_signature", /X-Hub-Signature-256 is missing/));
  });

  it.each([
    ["an empty signature", () => Promise.resolve("")],
    ["junk", () => Promise.resolve("sha256=junk")],
    ["the signature of another body", () => signBody(KEY, "{ }")],
    ["the signature of another key", () => signBody("foreign", "{}")],
  ])("gets 401 with %s", async (_name, sign) => {
    const response = await respond(post("{}", { "x-hub-signature-256": await sign() }));
    expect(response.status).toBe(401);
    expect(await readError(response)).toEqual(error("invalid_signature"));
    expect(deliveries).toEqual([]);
  });
});

describe("the order of the policy", () => {
  it.each(["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])("refuses %s before anything else", async (method) => {
    const query = `hub_mode=subscribe&hub_challenge=c&hub_verify_token=${encodeURIComponent(KEY)}`;
    const response = await respond(new Request(`http://localhost/?${query}`, { method }));
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
    expect(await readError(response)).toEqual(error("method_not_allowed"));
  });

  it("refuses a body over the limit before it looks for a handshake", async () => {
    const body = JSON.stringify({
      hub_mode: "subscribe",
      hub_verify_token: KEY,
      hub_challenge: "c",
      pad: "x".repeat(99),
    });
    expect((await respond(post(body), { bodyLimitBytes: 100 })).status).toBe(413);
  });

  it("answers a handshake whose signature is wrong", async () => {
    const body = JSON.stringify({ hub_mode: "subscribe", hub_verify_token: KEY, hub_challenge: "c" });
    const response = await respond(post(body, { "x-hub-signature-256": "sha256=junk" }));
    expect([response.status, await response.text()]).toEqual([200, "c"]);
  });

  it("checks the signature before it parses", async () => {
    expect(await readError(await respond(post("{ not JSON")))).toEqual(error("invalid_signature"));
  });
});

describe("the limit of the body", () => {
  it("lets 1 MiB pass, to the byte", async () => {
    const body = JSON.stringify("x".repeat(MIB - 2));
    expect((await respond(await postSigned(body))).status).toBe(200);
    expect(deliveries[0]?.rawBody.byteLength).toBe(MIB);
  });

  it("refuses one byte more", async () => {
    const response = await respond(await postSigned(JSON.stringify("x".repeat(MIB - 1))));
    expect(response.status).toBe(413);
    expect(await readError(response)).toEqual(error("body_too_large"));
  });

  it("believes a content-length over the limit, and reads nothing", async () => {
    const { body, taken } = streamPieces(10, 3);
    const before = taken();
    expect((await respond(post(body, { "content-length": "2000000" }))).status).toBe(413);
    expect(taken() - before).toBeLessThanOrEqual(1);
  });

  it.each(["5", "-1", "many", "Infinity"])("does not rely on content-length %s", async (length) => {
    const { body } = streamPieces(600, 2);
    const response = await respond(post(body, { "content-length": length }), { bodyLimitBytes: 1000 });
    expect(response.status).toBe(413);
  });

  it("stops reading a body without a length as soon as it is over", async () => {
    const { body, taken } = streamPieces(1000, 1_000_000);
    expect((await respond(post(body), { bodyLimitBytes: 5000 })).status).toBe(413);
    expect(taken()).toBeLessThan(10);
  });

  it("puts a body in many pieces together", async () => {
    const text = JSON.stringify({ text: "🎉".repeat(100) });
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const response = await respond(post(body, { "x-hub-signature-256": await signBody(KEY, text) }));
    expect(response.status).toBe(200);
    expect(deliveries).toMatchObject([{ message: { text: "🎉".repeat(100) } }]);
  });
});

describe("a body that cannot be read", () => {
  it("gets 400 when it breaks off", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) });
    expect(await readError(await respond(post(body)))).toEqual(error("body_incomplete"));
  });

  it("gets 500 with the hint when a framework has read it before", async () => {
    const request = await postSigned("{}");
    await request.json();
    const response = await respond(request);
    expect(response.status).toBe(500);
    expect(await readError(response)).toEqual(error("body_consumed", /before any body parser/));
  });

  it("gets 500 with the hint while something else is reading it", async () => {
    const request = await postSigned("{}");
    request.body?.getReader();
    expect(await readError(await respond(request))).toEqual(error("body_consumed", /before any body parser/));
  });
});

describe("a handler that fails", () => {
  const handlers: [name: string, onDelivery: ResponderOptions["onDelivery"]][] = [
    [
      "throws",
      () => {
        throw new Error(`queue full ${KEY}`);
      },
    ],
    [
      "rejects",
      () => Promise.reject(new Error("queue full", { cause: new Error(`with ${encodeURIComponent(KEY)}`) })),
    ],
    [
      "throws what is no error",
      () => {
        throw `queue full ${Buffer.from(KEY).toString("base64")}`;
      },
    ],
    [
      "has a cause that has a cause",
      () => {
        throw new Error("not kept", { cause: new Error("no", { cause: new Error("queue full") }) });
      },
    ],
  ];

  it.each(handlers)("gives 500 and is reported without the key when it %s", async (_name, onDelivery) => {
    const response = await respond(await postSigned(JSON.stringify(MESSAGE)), { onDelivery });
    expect(response.status).toBe(500);
    expect(await readError(response)).toEqual(error("handler_failed", /^(?!.*queue full)/));
    expect(logged).toHaveBeenCalledOnce();
    expect(String(logged.mock.calls[0]?.[0])).toContain("queue full");
  });

  it("is reported with the place and without the message's text", async () => {
    await respond(await postSigned(JSON.stringify(MESSAGE)), { onDelivery: failToQueue });
    const report = String(logged.mock.calls[0]?.[0]);
    expect(report).toContain("responder.test.ts");
    expect(report).not.toContain(MESSAGE.text);
  });
});

it("answers 500 also when the handler throws what cannot be written as text", async () => {
  const response = await respond(await postSigned("{}"), { onDelivery: failWithoutText });
  expect(await readError(response)).toEqual(error("handler_failed"));
  expect(logged).toHaveBeenCalledOnce();
});

describe("createResponder", () => {
  it.each([[""], [[]], [[KEY, ""]], [new Uint8Array()]])("refuses the keys %j", (verificationKeys) => {
    expect(() => createResponder({ verificationKeys, onDelivery: ignoreDelivery })).toThrow(TypeError);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity])("refuses the limit %d", (bodyLimitBytes) => {
    expect(() =>
      createResponder({ verificationKeys: KEY, onDelivery: ignoreDelivery, bodyLimitBytes }),
    ).toThrow(RangeError);
  });

  it.each(["", "hook", "https://chat.acme.example/hook", "/hook?tenant=7", "/hook#x", "/a hook", "/olá"])(
    "refuses the path %j",
    (path) => {
      expect(() => createResponder({ verificationKeys: KEY, onDelivery: ignoreDelivery, path })).toThrow(
        /^path: must start with "\/", be percent-encoded and have no query, got/,
      );
    },
  );
});
