import { createDelivery, createHandshake, signBody } from "pulumi-apichat/responder";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { freePort, type Received } from "../support/http.ts";
import { deliverTo } from "../support/responder.ts";
import {
  KEYS,
  startTarget,
  startWorker,
  type RunningWorker,
  type Target,
} from "./cloudflare-worker-harness.ts";

const [acmeKey, earlierAcmeKey] = KEYS.acme as [string, string];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let target: Target;

beforeAll(async () => {
  target = await startTarget();
});

beforeEach(() => {
  target.arrivals.length = 0;
  target.answers.length = 0;
});

/** Waits until a path of the target has received this many requests. */
async function arrivalsAt(path: string, count: number): Promise<Received[]> {
  const at = (): Received[] => target.arrivals.filter((one) => one.path === path);
  await vi.waitFor(() => expect(at()).toHaveLength(count), { timeout: 15_000, interval: 50 });
  return at();
}

const idOf = (arrival: Received | undefined): string => String(arrival?.headers["x-apichat-delivery-id"]);

describe("the bundle in workerd", () => {
  let worker: RunningWorker;

  beforeAll(async () => {
    worker = await startWorker({ target: target.url });
  });

  afterAll(() => worker.close());

  const urlOf = (name: string): string => `${worker.url}/${name}`;
  const deliver = async (
    body: string | Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<Response> => {
    const request = await createDelivery("text", { verificationKey: acmeKey, url: urlOf("acme"), body });
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
    return fetch(request);
  };

  test("accepts a workspace's earlier key, but not another workspace's key", async () => {
    const url = urlOf("acme");
    const [globexKey = ""] = KEYS.globex;
    expect((await fetch(createHandshake({ verificationKey: earlierAcmeKey, url }))).status).toBe(200);
    expect((await fetch(createHandshake({ verificationKey: globexKey, url }))).status).toBe(401);
  });

  test("forwards a delivery byte for byte, with its headers and an id", async () => {
    const body =
      '{"type":"text","text":"Ol\\u00e1 \\/ ü 🎉","conv_id":12345678901234567890,  "sender_id":"7"}\n';
    const signature = await signBody(acmeKey, body);
    const response = await deliver(body, {
      "user-agent": "apichat/1.0",
      "x-custom": "kept",
      "cf-ray": "dropped",
      "x-apichat-delivery-id": "replaced",
    });
    expect(response.status).toBe(200);

    const [arrival] = await arrivalsAt("/acme", 1);
    expect(arrival?.method).toBe("POST");
    expect(arrival?.body).toBe(body);
    expect(arrival?.headers).toMatchObject({
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      host: new URL(target.url).host,
      "user-agent": "apichat/1.0",
      "x-action": "messages",
      "x-apichat-delivery-id": expect.stringMatching(UUID),
      "x-custom": "kept",
      "x-flow-ns": "f0",
      "x-hub-signature-256": signature,
    });
    expect(arrival?.headers).not.toHaveProperty("cf-ray");
  });

  test("responds with 503 if the queue rejects the delivery", async () => {
    // Together with the body, these headers exceed the queue's limit of 128 KB for a message.
    const large = Object.fromEntries(
      Array.from({ length: 6 }, (_, index) => [`x-large-${index}`, "x".repeat(8_000)]),
    );
    const response = await deliver(JSON.stringify("x".repeat(64_000)), large);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("30");
    expect(await response.json()).toMatchObject({ error: { code: "unavailable" } });
    expect(worker.logs.at(-1)).toContain("acme: the queue did not accept a delivery: ");
  });

  // unit/server/forward-request.test.ts tests every status.
  test("does not follow a redirect, but retries later under the same id", async () => {
    target.answers.push({ status: 302, headers: { location: "/elsewhere" } });
    expect((await deliver("{}")).status).toBe(200);
    const [first, second] = await arrivalsAt("/acme", 2);
    expect(idOf(first)).toMatch(UUID);
    expect(second?.headers).toEqual(first?.headers);
    expect(second?.body).toEqual(first?.body);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(900);
    expect(target.arrivals).toHaveLength(2);
  });

  test("waits as long as the target requires", async () => {
    target.answers.push({ status: 429, headers: { "retry-after": "3" } });
    expect((await deliver("{}")).status).toBe(200);
    const [first, second] = await arrivalsAt("/acme", 2);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(2_900);
  });

  test("makes a delivery a dead letter after the last retry", async () => {
    target.answers.push({ status: 500 }, { status: 500 }, { status: 500 });
    expect((await deliver('{"text":"unlucky"}')).status).toBe(200);
    const [letter] = await arrivalsAt("/dead-letters", 1);
    const attempts = await arrivalsAt("/acme", 3);
    expect(worker.logs.filter((line) => line.endsWith("answered 500")).slice(-3)).toEqual(
      [1, 2, 3].map((attempt) => `acme: delivery ${idOf(attempts[0])}, attempt ${attempt}: answered 500`),
    );
    expect(JSON.parse(letter?.body ?? "")).toMatchObject({
      id: idOf(attempts[0]),
      workspace: "acme",
      bodyBase64: Buffer.from('{"text":"unlucky"}').toString("base64"),
    });
  });

  test("gives up at once if the target rejects the delivery", async () => {
    target.answers.push({ status: 422 });
    expect((await deliver("{}")).status).toBe(200);
    await arrivalsAt("/dead-letters", 1);
    expect(target.arrivals.filter(({ path }) => path === "/acme")).toHaveLength(1);
  });
});

test("replayed dead letters keep their ids, and are not lost if the replay fails", async () => {
  const worker = await startWorker({ target: target.url, replay: true, maxRetries: 0 });
  try {
    target.answers.push({ status: 422 }, { status: 500 });
    expect(await deliverTo(`${worker.url}/acme`, acmeKey)).toBe(200);
    const [refused, failed, taken] = await arrivalsAt("/acme", 3);
    for (const again of [failed, taken]) {
      expect(again?.headers).toEqual(refused?.headers);
      expect(again?.body).toEqual(refused?.body);
    }
  } finally {
    await worker.close();
  }
});

test("a delivery waits while its target cannot be reached", async () => {
  const port = await freePort();
  const worker = await startWorker({ target: `http://127.0.0.1:${port}`, maxRetries: 10 });
  let late: Target | undefined;
  try {
    expect(await deliverTo(`${worker.url}/acme`, acmeKey)).toBe(200);
    await vi.waitFor(() => expect(worker.logs.join("\n")).toContain("attempt 1"), { timeout: 10_000 });
    late = await startTarget(port);
    await vi.waitFor(() => expect(late?.arrivals).toHaveLength(1), { timeout: 20_000, interval: 50 });
  } finally {
    await Promise.all([worker.close(), late?.close()]);
  }
});
