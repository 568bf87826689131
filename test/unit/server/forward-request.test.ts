import { expect, onTestFinished, test, vi } from "vitest";
import { createDispatcher } from "../../../provider/lib/post.js";
import { forwardRequest, type ForwardOutcome } from "../../../provider/server/forward/attempt.js";
import type { HeaderPair } from "../../../provider/server/spool/database.js";
import { freePort, startServer, startTcpServer, type Answer, type Received } from "../../support/http.js";

interface Forwarding {
  headers?: readonly HeaderPair[];
  body?: Uint8Array;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** One attempt over a pool of its own. */
function forward(url: string, given: Forwarding = {}): Promise<ForwardOutcome> {
  const { headers = [], body = Buffer.from("{}"), ...limits } = given;
  const dispatcher = createDispatcher({ connections: 4, allowH2: false });
  onTestFinished(() => dispatcher.destroy());
  const options = { timeoutMs: 10_000, signal: new AbortController().signal, ...limits };
  return forwardRequest({ id: "our-id", headers, body }, { url: new URL(url), dispatcher, ...options });
}

const forwardTo = async (answer: Answer, given?: Forwarding): Promise<ForwardOutcome> =>
  forward((await startServer(answer)).url, given);

/** Names and values as they came. */
const pairsOf = ({ rawHeaders }: Received): HeaderPair[] =>
  Array.from({ length: rawHeaders.length / 2 }, (_, index) => [
    rawHeaders[index * 2] ?? "",
    rawHeaders[index * 2 + 1] ?? "",
  ]);

test("hands on end-to-end headers in their case and order, repeated ones too, and drops those of the connection", async () => {
  const target = await startServer();
  const kept: HeaderPair[] = [
    ["X-Hub-Signature-256", "sha256=00"],
    ["Content-Type", "application/json; charset=utf-8"],
    ["x-many", "one"],
    ["X-Many", "two, three"],
    ["user-agent", "the service"],
    ["x-many", ""],
    ["x-latin", "caf\u00e9 \u0080\u00ff"],
    ["Authorization", "Bearer theirs"],
    ["Cookie", "a=1"],
    ["cookie", "b=2"],
    ["__proto__", "a name like others"],
  ];
  const dropped: HeaderPair[] = [
    ["Host", "responder.example"],
    ["Content-Length", "999"],
    ["Transfer-Encoding", "chunked"],
    ["Connection", "keep-alive, X-Private"],
    ["Connection", "x-other"],
    ["x-private", "1"],
    ["X-Other", "2"],
    ["Keep-Alive", "timeout=5"],
    ["TE", "trailers"],
    ["Trailer", "x-checksum"],
    ["Upgrade", "h2c"],
    ["Proxy-Authorization", "Basic x"],
    ["Expect", "100-continue"],
    ["X-ApiChat-Delivery-Id", "theirs"],
  ];
  expect(await forward(`${target.url}/here?a=1&b=%C3%BC`, { headers: [...dropped, ...kept] })).toEqual({
    kind: "delivered",
  });
  const ours = ["host", "connection", "content-length"];
  expect(target.requests).toMatchObject([{ path: "/here?a=1&b=%C3%BC", body: "{}" }]);
  const headers = target.requests.flatMap(pairsOf);
  expect(headers.filter(([name]) => !ours.includes(name))).toEqual([
    ...kept,
    ["x-apichat-delivery-id", "our-id"],
  ]);
  expect(headers).toContainEqual(["host", new URL(target.url).host]);
});

type Judged = [status: number, headers: Record<string, string>, outcome: ForwardOutcome];
const judged = (statuses: number[], toOutcome: (failure: string) => ForwardOutcome): Judged[] =>
  statuses.map((status) => [status, {}, toOutcome(`HTTP ${status}`)]);
const failed = (failure: string, retryAfterMs = 0): ForwardOutcome => ({
  kind: "failed",
  failure,
  retryAfterMs,
});
const delivered: ForwardOutcome = { kind: "delivered" };

test.each<Judged>([
  ...judged([200, 201, 202, 204, 299], () => delivered),
  ...judged([400, 413, 415, 422, 431], (failure) => ({ kind: "refused", failure })),
  ...judged([401, 403, 404, 405, 408, 409, 410, 429, 500, 502, 503, 504], failed),
  [503, { "retry-after": "7" }, failed("HTTP 503", 7_000)],
])("judges HTTP %i with %j", async (status, headers, outcome) => {
  expect(await forwardTo((_, response) => response.writeHead(status, headers).end("why"))).toEqual(outcome);
});

test.each([301, 302, 303, 307, 308])("does not follow HTTP %i", async (status) => {
  const other = await startServer();
  const outcome = await forwardTo((_, response) => response.writeHead(status, { location: other.url }).end());
  expect(outcome).toEqual(failed(`HTTP ${status}, a redirect, which is not followed`));
  expect(other.requests).toEqual([]);
});

test("waits past 1xx for the answer", async () => {
  const outcome = await forwardTo((_, response) => {
    response.writeProcessing();
    response.writeEarlyHints({ link: "</a>; rel=preload" });
    response.writeHead(422).end();
  });
  expect(outcome).toMatchObject({ kind: "refused" });
});

test("counts a status whose body never ends, breaks off, or is endless", async () => {
  const never = forwardTo((_, response) => void response.writeHead(200).write("a"), { timeoutMs: 200 });
  expect(await never).toEqual(delivered);
  const brokenOff = await startTcpServer((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"));
  });
  expect(await forward(brokenOff.url)).toEqual(delivered);
  let sent = 0;
  const endless = forwardTo((_, response) => {
    response.writeHead(500);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024))) sent++;
    };
    response.on("drain", more);
    more();
  });
  expect(await endless).toEqual(failed("HTTP 500"));
  expect(sent).toBeLessThan(1_000);
});

test("names what is no answer by its code alone, and gives up on a target that stays silent", async () => {
  const breaking = await startTcpServer((socket) => socket.once("data", () => socket.destroy()));
  const babbling = await startTcpServer((socket) =>
    socket.once("data", () => socket.end("a secret\r\n\r\n")),
  );
  const silent = await startTcpServer();
  for (const [url, failure] of [
    [`http://127.0.0.1:${await freePort()}`, "no answer: ECONNREFUSED"],
    [breaking.url, "no answer: UND_ERR_SOCKET"],
    [babbling.url, "no answer: HTTPParserError"],
  ] as const)
    expect(await forward(url)).toEqual(failed(failure));
  expect(await forward(silent.url, { timeoutMs: 150 })).toEqual(failed("no answer within 0.15 s"));
});

test("is abandoned at once when its signal fires, before and during the attempt", async () => {
  const connected = vi.fn<() => void>();
  const silent = await startTcpServer(connected);
  expect(await forward(silent.url, { signal: AbortSignal.abort() })).toEqual({ kind: "abandoned" });
  const abandoning = new AbortController();
  const outcome = forward(silent.url, { signal: abandoning.signal });
  await expect.poll(() => connected).toHaveBeenCalled();
  abandoning.abort();
  expect(await outcome).toEqual({ kind: "abandoned" });
});
