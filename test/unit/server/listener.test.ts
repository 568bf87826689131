import { once } from "node:events";
import { request, Agent, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { startListener, type Listener } from "../../../provider/server/listener.js";
import { afterTests, head, sendRaw } from "../../support/http.js";

const LOOPBACK = { host: "127.0.0.1", port: 0 };

/** Only few connections, but more time than a busy machine needs. */
const LIMITS = {
  headMs: 60_000,
  requestMs: 60_000,
  checkEveryMs: 50,
  lingerMs: 1_000,
  drainMs: 60_000,
  connections: 3,
};

async function start(
  handle: (req: IncomingMessage, res: ServerResponse) => void,
  more: Partial<typeof LIMITS> = {},
): Promise<Listener> {
  const listener = await startListener(LOOPBACK, handle, { ...LIMITS, ...more });
  afterTests(() => listener.close());
  return listener;
}

const get = (port: number, agent?: Agent): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ port, host: "127.0.0.1", agent: agent ?? false }, (res) => resolve(text(res)))
      .on("error", reject)
      .end();
  });

const post = (path: string, ...headers: string[]): string => head(`POST ${path} HTTP/1.1`, headers);

async function answerBody(req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.end(`${req.url} ${await text(req)}`);
}

describe("a listener", () => {
  it("at the limit, closes the connection that has been idle longest, and serves the new one", async () => {
    const { port } = await start((req, res) => void answerBody(req, res));
    const kept = await connectAll(port);
    // After its response, the first connection has been idle for the shortest time.
    kept[0]?.write(post("/used", "content-length: 0"));
    if (kept[0]) await once(kept[0], "data");
    expect(await get(port)).toBe("/ ");
    await expect.poll(() => kept.map(({ closed }) => closed)).toEqual([false, true, false]);
  });

  it("at the limit, closes a connection with an incomplete body if no connection is idle", async () => {
    const { port } = await start((req, res) => void answerBody(req, res).catch(() => undefined));
    const slow = await connectAll(port);
    for (const socket of slow) socket.write(post("/slow", "expect: 100-continue", "content-length: 5"));
    await Promise.all(slow.map((socket) => once(socket, "data")));
    expect(await get(port)).toBe("/ ");
    await expect.poll(() => slow.map(({ closed }) => closed)).toEqual([true, false, false]);
  });

  it("at the limit, keeps the connections of requests in progress", async () => {
    const begun: ServerResponse[] = [];
    const { port } = await start((req, res) => (req.url === "/" ? res.end("here") : begun.push(res)));
    const answers = Array.from({ length: LIMITS.connections }, () =>
      sendRaw(port, post("/slow", "connection: close", "content-length: 0")),
    );
    await expect.poll(() => begun).toHaveLength(LIMITS.connections);
    await expect(get(port)).rejects.toMatchObject({ code: "ECONNRESET" });
    for (const res of begun) res.end("answered");
    for (const answer of answers) expect(await answer).toMatch(/^HTTP\/1.1 200 OK.*answered$/s);
    await expect.poll(() => get(port)).toBe("here");
  });

  it("responds to senders that have closed their side, and closes their connections", async () => {
    const sockets: Socket[] = [];
    const { port } = await start((req, res) => {
      sockets.push(req.socket);
      setTimeout(() => void answerBody(req, res), 20);
    });
    const answers = Array.from({ length: LIMITS.connections }, () => {
      const socket = connect(port, "127.0.0.1");
      socket.end(post("/half", "content-length: 2") + "ok");
      return text(socket);
    });
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 200 OK.*\/half ok$/s);
    await expect.poll(() => sockets.filter(({ closed }) => closed)).toHaveLength(LIMITS.connections);
  });

  it("disconnects senders that are slow with the head or the body", async () => {
    const limits = { headMs: 600, requestMs: 1_500 };
    const { port } = await start((req, res) => void answerBody(req, res).catch(() => undefined), limits);
    const [silent, slowHead, slowBody] = await Promise.all([
      drip(port, ""),
      drip(port, "POST / HTTP/1.1\r\nhost: x\r\nx-slow: "),
      drip(port, post("/", "content-length: 1000")),
    ]);
    // The other two may also get a 408, unless they send a byte while the server closes the connection.
    expect(silent.answer).toMatch(/^HTTP\/1.1 408 /);
    expect(silent.tookMs).toBeLessThan(slowBody.tookMs);
    expect(slowHead.tookMs).toBeLessThan(slowBody.tookMs);
  });
});

/** Opens the maximum number of connections, one after the other. */
async function connectAll(port: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let number = 0; number < LIMITS.connections; number++) {
    const socket = connect(port, "127.0.0.1").resume();
    socket.on("error", () => undefined);
    afterTests(() => socket.destroy());
    sockets.push(socket);
    await once(socket, "connect");
  }
  return sockets;
}

/**
 * Sends the start of a request, then a byte every 100 ms, until the server closes the connection.
 * With an empty start, sends nothing.
 */
async function drip(port: number, beginning: string): Promise<{ answer: string; tookMs: number }> {
  const startedMs = Date.now();
  const socket = connect(port, "127.0.0.1");
  const timer = setInterval(() => beginning !== "" && socket.writable && socket.write("x"), 100);
  if (beginning !== "") socket.write(beginning);
  let answer = "";
  socket.on("data", (chunk) => (answer += String(chunk)));
  await new Promise((resolve) => socket.on("end", resolve).on("error", resolve));
  clearInterval(timer);
  socket.destroy();
  return { answer, tookMs: Date.now() - startedMs };
}

describe("a graceful close", () => {
  it("responds to requests in progress, accepts no new ones, and ends idle connections", async () => {
    const began = Promise.withResolvers<ServerResponse>();
    const listener = await start((req, res) => (req.url === "/" ? res.end("idle") : began.resolve(res)));
    const agent = new Agent({ keepAlive: true });
    await get(listener.port, agent);
    const pending = sendRaw(listener.port, post("/slow", "content-length: 0"));
    const res = await began.promise;
    const closed = listener.close();
    await expect(get(listener.port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    res.end("answered");
    expect(await pending).toMatch(/^HTTP\/1.1 200 OK.*answered$/s);
    await closed;
    agent.destroy();
  });

  it("responds to requests already sent, and closes each connection after its response", async () => {
    const listener = await start((req, res) => void setTimeout(() => res.end(req.url), 5));
    let closed: Promise<void> | undefined;
    /** Sends one request after the other, until a response announces that it is the last one. */
    const send = async (): Promise<string> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let sent = 0; ; sent++) {
        const answer = await new Promise<IncomingMessage>((resolve, reject) =>
          request({ port: listener.port, host: "127.0.0.1", agent }, resolve).on("error", reject).end(),
        );
        answer.resume();
        await once(answer, "end");
        if (answer.headers.connection === "close") return "announced";
        if (sent >= 5) closed ??= listener.close();
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      }
    };
    expect(await Promise.all(Array.from({ length: LIMITS.connections }, send))).toEqual(
      Array(LIMITS.connections).fill("announced"),
    );
    await closed;
  });
});
