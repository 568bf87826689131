import { beforeEach, describe, expect, it, vi } from "vitest";
import { createDelivery, createHandshake, createResponder } from "../../../provider/responder/index.js";
import type {
  Delivery,
  Handshake,
  RequestHead,
  ResponderOptions,
} from "../../../provider/responder/index.js";

const KEY = "key/with+signs=";
const OLD_KEY = "the key before this one";
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
  createDelivery("text", { verificationKey, url: target });

/** One more than a workspace may have. */
const MANY_KEYS = Array.from({ length: 33 }, (_, index) => `${KEY}-${index}`);

const KEY_COUNT_REASON =
  "must be at most 32 keys, got 33, derived ones included; remove the keys that sign no deliveries any more";

describe("keys from a function", () => {
  it("are asked for at each request, with its head", async () => {
    const heads: RequestHead[] = [];
    const keys = [KEY, OLD_KEY];
    const responder = create({
      verificationKeys: (request) => {
        heads.push(request);
        return keys;
      },
    });
    expect((await responder(await delivery(OLD_KEY))).status).toBe(200);
    keys.pop();
    expect((await responder(await delivery(OLD_KEY))).status).toBe(401);
    const head = ["POST", url, "f0"];
    expect(heads.map((one) => [one.method, one.url, one.header("x-flow-ns")])).toEqual([head, head]);
    expect(deliveries).toMatchObject([{ keyIndex: 1 }]);
  });

  it("may come as a promise, as bytes, and differ by path: one responder for many workspaces", async () => {
    const responder = create({
      verificationKeys: ({ url: target }) =>
        new URL(target).pathname === "/acme" ? Promise.resolve(new TextEncoder().encode(KEY)) : OLD_KEY,
    });
    const post = async (key: string, path: string): Promise<number> =>
      (await responder(await delivery(key, new URL(path, url).href))).status;
    expect(await post(KEY, "/acme")).toBe(200);
    expect(await post(KEY, "/globex")).toBe(401);
    expect(await post(OLD_KEY, "/globex")).toBe(200);
  });

  it.each<[report: string, verificationKeys: () => string[] | Promise<string[]>]>([
    [
      "verificationKeys has failed: Error: vault is sealed",
      () => Promise.reject(new Error("vault is sealed")),
    ],
    ["non-empty", () => [KEY, ""]],
    ["at most 32 keys, got 33", () => MANY_KEYS],
  ])("that fail give 500, and the reason is reported without a key: %s", async (report, verificationKeys) => {
    const response = await create({ verificationKeys })(await delivery());
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: "keys_unavailable" } });
    expect(logged.mock.calls).toEqual([[expect.stringContaining(report)]]);
    expect(logged.mock.calls.join("")).not.toContain(KEY);
    expect(deliveries).toEqual([]);
  });
});

it("a workspace has at most 32 keys, and the last of them verifies", async () => {
  const tooMany = () => create({ verificationKeys: MANY_KEYS });
  expect(tooMany).toThrow(new TypeError(`verificationKeys: ${KEY_COUNT_REASON}`));
  const keys = MANY_KEYS.slice(1);
  expect((await create({ verificationKeys: keys })(await delivery(keys.at(-1)))).status).toBe(200);
  expect(deliveries).toMatchObject([{ keyIndex: 31 }]);
});

it("does not show onHandshake the token when it stands in the query too, however it is written", async () => {
  const handshakes: Handshake[] = [];
  const responder = create({ onHandshake: (handshake) => void handshakes.push(handshake) });
  const token = encodeURIComponent(KEY);
  const target = `${url}?hub%5Fverify_token=${token}&tenant=7&hub_verify_token=${token}&hub_challenge`;
  await responder(createHandshake({ verificationKey: KEY, url: target }));
  expect(handshakes).toEqual([{ url: `${url}?tenant=7`, encoding: "form", keyIndex: 0 }]);
});

const KEYS_REASON = /^verificationKeys: give a non-empty/;
const LIMIT_REASON = /^bodyLimitBytes: must be a positive whole number/;
const PATH_REASON = /^path: must start with "\/", be percent-encoded and have no query, got/;

it.each<readonly [wrong: object, reason: RegExp]>([
  ...["", [], [KEY, ""], new Uint8Array()].map((keys) => [{ verificationKeys: keys }, KEYS_REASON] as const),
  ...[0, -1, 1.5, Number.NaN, Infinity].map((limit) => [{ bodyLimitBytes: limit }, LIMIT_REASON] as const),
  ...["", "hook", url, "/hook?tenant=7", "/hook#x", "/a hook", "/olá"].map(
    (path) => [{ path }, PATH_REASON] as const,
  ),
  [{ pth: "/x" }, /^pth: no such option; there are verificationKeys, onDelivery, /],
  [{ onDelivery: undefined }, /^onDelivery: must be a function$/],
  [{ onHandshake: "log" }, /^onHandshake: must be a function$/],
])("refuses the options %j at once", (wrong, reason) => {
  expect(() => create(wrong)).toThrow(reason);
  expect(() => create(wrong)).toThrow("bodyLimitBytes" in wrong ? RangeError : TypeError);
});
