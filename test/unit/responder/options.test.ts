import { beforeEach, describe, expect, it, vi } from "vitest";
import { createDelivery, createHandshake, createResponder } from "../../../provider/responder/index.js";
import type {
  Delivery,
  DeliveryHandler,
  Handshake,
  RequestHead,
  ResponderOptions,
} from "../../../provider/responder/index.js";

const KEY = "key/with+signs=";
const OLD_KEY = "the key before this one";
const SECRETS = [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString("base64"), OLD_KEY];
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
const readCode = async (response: Response): Promise<unknown> => {
  const { error } = (await response.json()) as { error: { code: unknown } };
  return [response.status, error.code];
};
const expectNoSecretLogged = (): void => {
  const shown = logged.mock.calls.flat().join("\n");
  for (const secret of SECRETS) expect(shown).not.toContain(secret);
};

describe("path", () => {
  const responder = create({ path: "/webhooks/apichat" });

  it.each([url, `${url}?tenant=7`, `${url}#part`])("answers %s", async (target) => {
    expect((await responder(await delivery(KEY, target))).status).toBe(200);
    expect((await responder(createHandshake({ verificationKey: KEY, url: target }))).status).toBe(200);
  });

  it.each([
    "/",
    "/webhooks",
    "/webhooks/apichat/",
    "/Webhooks/apichat",
    "/webhooks/apichat/x",
    "/?/webhooks/apichat",
  ])("lets %s be unknown, whatever is asked of it", async (target) => {
    const there = new URL(target, url).href;
    for (const request of [
      await delivery(KEY, there),
      createHandshake({ verificationKey: KEY, url: there }),
      createHandshake({ verificationKey: KEY, url: there, encoding: "query" }),
      new Request(there),
    ]) {
      expect(await readCode(await responder(request))).toEqual([404, "not_found"]);
    }
    expect(deliveries).toEqual([]);
  });
});

describe("the head of a request", () => {
  it.each(["gzip", "br", "identity, gzip", "GZIP", "x"])(
    "with content-encoding %s gets 415 and is told what is taken",
    async (encoding) => {
      const request = await delivery();
      request.headers.set("content-encoding", encoding);
      const response = await create()(request);
      expect(response.headers.get("accept-encoding")).toBe("identity");
      expect(await readCode(response)).toEqual([415, "unsupported_media_type"]);
    },
  );

  it.each(["identity", "Identity"])("with content-encoding %s is taken", async (encoding) => {
    const request = await delivery();
    request.headers.set("content-encoding", encoding);
    expect((await create()(request)).status).toBe(200);
  });

  it("of a FormData may be a handshake", async () => {
    const body = new FormData();
    body.set("hub_mode", "subscribe");
    body.set("hub_verify_token", KEY);
    body.set("hub_challenge", "c");
    const response = await create()(new Request(url, { method: "POST", body }));
    expect([response.status, await response.text()]).toEqual([200, "c"]);
  });
});

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
    expect(heads.map((head) => [head.method, head.url, head.header("x-flow-ns")])).toEqual([
      ["POST", url, "f0"],
      ["POST", url, "f0"],
    ]);
    expect(deliveries).toMatchObject([{ keyIndex: 1 }]);
  });

  it("may come as a promise, and as bytes", async () => {
    const responder = create({ verificationKeys: () => Promise.resolve(new TextEncoder().encode(KEY)) });
    expect((await responder(await delivery())).status).toBe(200);
    const handshake = createHandshake({ verificationKey: KEY, challenge: "c1" });
    expect(await (await responder(handshake)).text()).toBe("c1");
  });

  it("may differ by path: one responder for many workspaces", async () => {
    const verificationKeys = ({ url: target }: RequestHead): string =>
      new URL(target).pathname === "/acme" ? KEY : OLD_KEY;
    const responder = create({ verificationKeys });
    const post = async (key: string, path: string): Promise<number> =>
      (await responder(await delivery(key, new URL(path, url).href))).status;
    expect(await post(KEY, "/acme")).toBe(200);
    expect(await post(KEY, "/globex")).toBe(401);
    expect(await post(OLD_KEY, "/globex")).toBe(200);
  });

  it("are not asked for by what is refused at its head or is too large", async () => {
    const verificationKeys = vi.fn<() => string>(() => KEY);
    const responder = create({ verificationKeys, path: "/webhooks/apichat", bodyLimitBytes: 10 });
    expect((await responder(new Request(url))).status).toBe(405);
    expect((await responder(await delivery(KEY, new URL("/", url).href))).status).toBe(404);
    expect((await responder(await delivery())).status).toBe(413);
    expect(verificationKeys).not.toHaveBeenCalled();
  });

  const failing: [name: string, verificationKeys: ResponderOptions["verificationKeys"], report: RegExp][] = [
    [
      "throws",
      () => {
        throw new Error("no such secret");
      },
      /verificationKeys has failed: Error: no such secret/,
    ],
    ["rejects", () => Promise.reject(new Error("vault is sealed")), /vault is sealed/],
    ["gives no key", () => [], /non-empty/],
    ["gives an empty key", () => "", /non-empty/],
    ["gives an empty key among others", () => [KEY, ""], /non-empty/],
  ];

  it.each(failing)(
    "that %s give 500, and the reason is reported",
    async (_name, verificationKeys, report) => {
      const responder = create({ verificationKeys });
      for (const request of [await delivery(), createHandshake({ verificationKey: KEY })]) {
        logged.mockClear();
        expect(await readCode(await responder(request))).toEqual([500, "keys_unavailable"]);
        expect(logged.mock.calls).toEqual([[expect.stringMatching(report)]]);
        expectNoSecretLogged();
      }
      expect(deliveries).toEqual([]);
    },
  );
});

describe("onHandshake", () => {
  it.each([
    ["form", url],
    ["json", url],
    ["query", url],
    ["form", `${url}?tenant=7`],
    ["query", `${url}?tenant=7&x=%20`],
  ] as const)("is told of a handshake in %s at %s, without its parameters", async (encoding, target) => {
    const handshakes: Handshake[] = [];
    const responder = create({
      verificationKeys: [OLD_KEY, KEY],
      onHandshake: (handshake) => void handshakes.push(handshake),
    });
    const request = createHandshake({ verificationKey: KEY, url: target, encoding, challenge: "c1" });
    expect(await (await responder(request)).text()).toBe("c1");
    expect(handshakes).toEqual([{ url: target, encoding, keyIndex: 1 }]);
  });

  it("is not shown the token when it stands in the query too, however it is written", async () => {
    const handshakes: Handshake[] = [];
    const responder = create({ onHandshake: (handshake) => void handshakes.push(handshake) });
    const token = encodeURIComponent(KEY);
    const target = `${url}?hub%5Fverify_token=${token}&tenant=7&hub_verify_token=${token}&hub_challenge`;
    await responder(createHandshake({ verificationKey: KEY, url: target }));
    expect(handshakes).toEqual([{ url: `${url}?tenant=7`, encoding: "form", keyIndex: 0 }]);
  });

  it("is not told of one that fails", async () => {
    const onHandshake = vi.fn<() => void>();
    const responder = create({ onHandshake });
    await responder(createHandshake({ verificationKey: "another" }));
    await responder(createHandshake({ verificationKey: KEY, challenge: "é" }));
    await responder(await delivery());
    expect(onHandshake).not.toHaveBeenCalled();
  });

  it("is waited for, and when it fails the handshake does too", async () => {
    const onHandshake = (): Promise<void> => Promise.reject(new Error(`not noted for ${KEY}`));
    const response = await create({ onHandshake })(createHandshake({ verificationKey: KEY }));
    expect(await readCode(response)).toEqual([500, "handler_failed"]);
    expect(logged.mock.calls).toEqual([[expect.stringContaining("onHandshake has failed")]]);
    expectNoSecretLogged();
  });
});

it("shows the handler the head of its request", async () => {
  const seen: unknown[] = [];
  const onDelivery: DeliveryHandler = (_delivery, { request }) => {
    seen.push(
      request.method,
      request.url,
      request.header("x-flow-ns"),
      Object.fromEntries(request.headers()),
    );
  };
  const request = await delivery();
  await create({ onDelivery })(request);
  expect(seen).toEqual(["POST", url, "f0", Object.fromEntries(request.headers)]);
});

describe("options that a program without types got wrong", () => {
  it.each([
    [{ pth: "/x" }, /^pth: no such option; there are verificationKeys, onDelivery, /],
    [{ onDelivery: undefined }, /^onDelivery: must be a function$/],
    [{ onHandshake: "log" }, /^onHandshake: must be a function$/],
  ])("%j are refused at once", (wrong, reason) => {
    const options = wrong as unknown as Partial<ResponderOptions>;
    expect(() => create(options)).toThrow(TypeError);
    expect(() => create(options)).toThrow(reason);
  });
});
