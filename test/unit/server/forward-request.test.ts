import { expect, onTestFinished, test } from "vitest";
import { createDispatcher } from "../../../provider/lib/post.js";
import { forwardRequest, type ForwardOutcome } from "../../../provider/server/forwarder.js";
import type { HeaderPair } from "../../../provider/server/spool/database.js";
import { startServer, startTcpServer, type Answer } from "../../support/http.js";

/** Makes one attempt with its own connection pool. */
function forward(url: string, headers: readonly HeaderPair[] = []): Promise<ForwardOutcome> {
  const dispatcher = createDispatcher({ connections: 4, allowH2: false });
  onTestFinished(() => dispatcher.destroy());
  const { signal } = new AbortController();
  const target = { url: new URL(url), dispatcher, timeoutMs: 10_000, signal };
  return forwardRequest({ id: "our-id", headers, body: Buffer.from("{}") }, target);
}

const forwardTo = async (answer: Answer): Promise<ForwardOutcome> => forward((await startServer(answer)).url);

/** Converts a list of alternating names and values to pairs. */
const toPairs = (...turns: string[][]): HeaderPair[] =>
  turns.flat().flatMap((name, index, all) => (index % 2 ? [] : [[name, all[index + 1] ?? ""] as const]));

test("keeps the case and the order of end-to-end headers, and drops hop-by-hop headers", async () => {
  const target = await startServer();
  const kept = toPairs(
    ["X-Hub-Signature-256", "sha256=00", "Content-Type", "application/json; charset=utf-8"],
    ["x-many", "one", "X-Many", "two, three", "user-agent", "the service", "x-many", ""],
    ["x-latin", "caf\u00e9 \u0080\u00ff", "Authorization", "Bearer theirs", "Cookie", "a=1", "cookie", "b=2"],
    ["__proto__", "a name like others"],
  );
  const dropped = toPairs(
    ["Host", "responder.example", "Content-Length", "999", "Transfer-Encoding", "chunked", "TE", "trailers"],
    ["Connection", "keep-alive, X-Private", "Connection", "x-other", "x-private", "1", "X-Other", "2"],
    ["Keep-Alive", "timeout=5", "Trailer", "x-checksum", "Upgrade", "h2c", "Expect", "100-continue"],
    ["Proxy-Authorization", "Basic x", "X-ApiChat-Delivery-Id", "theirs"],
  );
  expect(await forward(`${target.url}/here?a=1&b=%C3%BC`, [...dropped, ...kept])).toEqual(done("HTTP 200"));
  const [request] = target.requests;
  expect(request).toMatchObject({ path: "/here?a=1&b=%C3%BC", body: "{}" });
  const headers = toPairs(request?.rawHeaders ?? []);
  expect(headers).toContainEqual(["host", new URL(target.url).host]);
  const ours = ["host", "connection", "content-length"];
  expect(headers.filter(([name]) => !ours.includes(name))).toEqual([
    ...kept,
    ["x-apichat-delivery-id", "our-id"],
  ]);
});

type Judged = [status: number, headers: Record<string, string>, outcome: ForwardOutcome];
const judged = (statuses: number[], toOutcome: (reason: string) => ForwardOutcome): Judged[] =>
  statuses.map((status) => [status, {}, toOutcome(`HTTP ${status}`)]);
const retry = (reason: string, retryAfterSeconds = 0) =>
  ({ kind: "retry", reason, retryAfterSeconds }) as const;
const done = (reason: string): ForwardOutcome => ({ kind: "done", reason });

test.each<Judged>([
  ...judged([200, 201, 202, 204, 299], done),
  ...judged([400, 413, 415, 422, 431], (reason) => ({ kind: "refused", reason })),
  ...judged([401, 403, 404, 405, 408, 409, 410, 429, 500, 502, 503, 504], (reason) => retry(reason)),
  [503, { "retry-after": "7" }, retry("HTTP 503", 7)],
])("interprets HTTP %i with %j", async (status, headers, outcome) => {
  expect(await forwardTo((_, response) => response.writeHead(status, headers).end("why"))).toEqual(outcome);
});

test.each([301, 307])("does not follow HTTP %i", async (status) => {
  const other = await startServer();
  const outcome = await forwardTo((_, response) => response.writeHead(status, { location: other.url }).end());
  expect(outcome).toEqual(retry(`HTTP ${status}, a redirect, which is not followed`));
  expect(other.requests).toEqual([]);
});

test("uses the status of a response even if its body is incomplete or endless", async () => {
  const brokenOff = await startTcpServer((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"));
  });
  expect(await forward(brokenOff.url)).toEqual(done("HTTP 200"));
  const endless = forwardTo((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
    };
    response.writeHead(500).on("drain", more);
    more();
  });
  expect(await endless).toEqual(retry("HTTP 500"));
});
