import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  createDelivery,
  createHandshake,
  createResponder,
  UnavailableError,
} from "../../../provider/responder/index.js";
import type {
  Delivery,
  DeliveryHandler,
  RequestHead,
  ResponderOptions,
} from "../../../provider/responder/index.js";

// Tests options, keys from a function, and handlers with fetch's Request. test/contract covers all runtimes.

const KEY = "key/with+signs=";
const OLD_KEY = "the key before this one";
const SECRETS = [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString("base64")];
const BODY = '{"type":"text","text":"a private message"}';
const url = "https://chat.acme.example/webhooks/apichat";

let deliveries: Delivery[] = [];
const logged = vi.spyOn(console, "error");

beforeEach(() => {
  deliveries = [];
  logged.mockReset().mockImplementation(() => undefined);
});

const create = (options: Partial<ResponderOptions> = {}) =>
  createResponder({
    verificationKeys: KEY,
    onDelivery: (delivery) => void deliveries.push(delivery),
    ...options,
  });
const delivery = (verificationKey = KEY, target = url): Promise<Request> =>
  createDelivery("text", { verificationKey, url: target, body: BODY });

/** Sends a request, and checks that neither the response nor the log contains a key. */
async function respond(
  request: Request,
  options: Partial<ResponderOptions> = {},
  ...runtime: unknown[]
): Promise<Response> {
  const response = await create(options)(request, ...runtime);
  const shown = [await response.clone().text(), ...logged.mock.calls.flat().map(String)].join("\n");
  for (const secret of SECRETS) expect(shown).not.toContain(secret);
  return response;
}
const readCode = async (response: Response): Promise<unknown> => {
  const { error } = (await response.json()) as { error: { code: unknown } };
  return [response.status, error.code];
};
const fail = (error: unknown) => (): never => {
  throw error;
};

/** One key more than a responder accepts. */
const MANY_KEYS = Array.from({ length: 33 }, (_, index) => `${KEY}-${index}`);

const KEY_COUNT_REASON =
  "must be at most 32 keys, got 33, derived ones included; remove the keys that no longer sign deliveries";

describe("keys from a function", () => {
  it("are requested with the method, URL and headers of each request, and may be a promise of bytes", async () => {
    const heads: RequestHead[] = [];
    const keys = [KEY, OLD_KEY];
    const responder = create({
      verificationKeys: (request) => {
        heads.push(request);
        return Promise.resolve(keys.map((key) => new TextEncoder().encode(key)));
      },
    });
    expect((await responder(await delivery(OLD_KEY))).status).toBe(200);
    keys.pop();
    expect((await responder(await delivery(OLD_KEY))).status).toBe(401);
    const head = ["POST", url, "f0"];
    expect(heads.map((one) => [one.method, one.url, one.header("x-flow-ns")])).toEqual([head, head]);
    expect(deliveries).toMatchObject([{ keyIndex: 1 }]);
  });

  it.each<[report: string, verificationKeys: () => string[] | Promise<string[]>]>([
    ["verificationKeys failed: Error: vault is sealed", fail(new Error("vault is sealed"))],
    ["non-empty", () => [KEY, ""]],
    ["at most 32 keys, got 33", () => MANY_KEYS],
  ])("cause a 500, and a report without keys, if they are invalid: %s", async (report, verificationKeys) => {
    expect(await readCode(await respond(await delivery(), { verificationKeys }))).toEqual([
      500,
      "keys_unavailable",
    ]);
    expect(logged.mock.calls).toEqual([[expect.stringContaining(report)]]);
    expect(deliveries).toEqual([]);
  });
});

it("a responder accepts at most 32 keys, and verifies with all of them, even the last", async () => {
  const tooMany = () => create({ verificationKeys: MANY_KEYS });
  expect(tooMany).toThrow(new TypeError(`verificationKeys: ${KEY_COUNT_REASON}`));
  const keys = MANY_KEYS.slice(1);
  expect((await create({ verificationKeys: keys })(await delivery(keys.at(-1)))).status).toBe(200);
  expect(deliveries).toMatchObject([{ keyIndex: 31 }]);
});

it("responds with 500 to a handshake whose handler fails, and reports the failure without the key", async () => {
  const request = createHandshake({ verificationKey: KEY, url });
  const response = await respond(request, { onHandshake: fail(new Error(`no room for ${KEY}`)) });
  expect(await readCode(response)).toEqual([500, "handler_failed"]);
  expect(logged.mock.calls).toEqual([[expect.stringContaining("onHandshake failed: Error: no room")]]);
});

const KEYS_REASON = /^verificationKeys: pass a non-empty/;
const LIMIT_REASON = /^bodyLimitBytes: must be a positive whole number/;
const PATH_REASON = /^path: must start with "\/", be percent-encoded and have no query, got/;

it.each<readonly [wrong: object, reason: RegExp]>([
  ...["", [], [KEY, ""], new Uint8Array()].map((keys) => [{ verificationKeys: keys }, KEYS_REASON] as const),
  ...[0, -1, 1.5, Number.NaN, Infinity].map((limit) => [{ bodyLimitBytes: limit }, LIMIT_REASON] as const),
  ...["", "hook", url, "/hook?tenant=7", "/hook#x", "/a hook", "/olá"].map(
    (path) => [{ path }, PATH_REASON] as const,
  ),
  [{ pth: "/x" }, /^pth: unknown option; the options are verificationKeys, onDelivery, /],
  [{ onDelivery: undefined }, /^onDelivery: must be a function$/],
  [{ onHandshake: "log" }, /^onHandshake: must be a function$/],
])("rejects the options %j at once", (wrong, reason) => {
  expect(() => create(wrong)).toThrow(reason);
  expect(() => create(wrong)).toThrow("bodyLimitBytes" in wrong ? RangeError : TypeError);
});

it.each<[string, (request: Request) => unknown]>([
  ["has already read", (request) => request.json()],
  ["is reading", (request) => request.body?.getReader()],
])("a body that other code %s causes a 500 with a hint", async (_what, read) => {
  const request = await delivery();
  await read(request);
  const response = await respond(request);
  expect(await response.clone().text()).toContain("before any body parser");
  expect(await readCode(response)).toEqual([500, "body_consumed"]);
});

describe("the handler", () => {
  it("gets the request, and finishes before the response is sent", async () => {
    const order: unknown[] = [];
    const onDelivery: DeliveryHandler = async (_, { request }) => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push(request.method, request.url, [...request.headers()]);
    };
    const request = await delivery();
    await respond(request, { onDelivery });
    expect([...order, "answered"]).toEqual(["POST", url, [...request.headers], "answered"]);
  });

  const encoded = encodeURIComponent(KEY);
  const reject = () => Promise.reject(new Error("no", { cause: new Error(`queue full ${encoded}`) }));
  it.each<[string, DeliveryHandler, shown: RegExp]>([
    ["rejects", reject, /queue full.*responder\.test\.ts/s],
    ["throws a string", fail(`queue full ${Buffer.from(KEY).toString("base64")}`), /queue full \S+$/],
    ["throws a value without a string form", fail(Object.create(null)), /thrown: object$/],
  ])("causes a 500, and a report without key and delivery, if it %s", async (_, onDelivery, shown) => {
    const response = await respond(await delivery(), { onDelivery });
    expect(await response.clone().text()).not.toContain("queue full");
    expect(await readCode(response)).toEqual([500, "handler_failed"]);
    expect(logged).toHaveBeenCalledOnce();
    const report = String(logged.mock.calls[0]?.[0]);
    expect(report).toMatch(shown);
    expect(report).not.toContain("private");
  });

  it.each([
    [{}, "5"],
    [{ retryAfterSeconds: 0.2 }, "1"],
    [{ retryAfterSeconds: -3 }, "0"],
  ])(
    "throwing an UnavailableError with %j causes a 503 with Retry-After %s and no report",
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

/** A handler that passes this work to waitUntil. */
const leaving =
  (work: () => Promise<unknown>): DeliveryHandler =>
  (_delivery, { waitUntil }) =>
    waitUntil(work());

it.each([
  ["without a context", []],
  ["with the arguments of Bun and Deno", [{ remoteAddr: { hostname: "127.0.0.1" } }]],
  ["without a context", [undefined, null]],
])("waitUntil works %s", async (_name, runtime) => {
  const work = vi.fn<() => Promise<void>>(() => Promise.resolve());
  expect((await respond(await delivery(), { onDelivery: leaving(work) }, ...runtime)).status).toBe(200);
  expect(work).toHaveBeenCalledOnce();
});
