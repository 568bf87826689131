import { once } from "node:events";
import { request, Agent, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import type { Answer } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import { listen, type Listener } from "../../../provider/server/listener.js";
import { afterTests, startTcpServer } from "../../support/http.js";

const LOOPBACK = { host: "127.0.0.1", port: 0 };

/** Shorter than those of a real responder. */
const LIMITS = { headMs: 600, requestMs: 1_500, checkEveryMs: 50, drainMs: 500, connections: 3 };

async function start(handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<Listener> {
  const listener = await listen(LOOPBACK, handle, LIMITS);
  afterTests(() => listener.close());
  return listener;
}

/** Sends bytes as they are and reads until the server closes. */
async function exchange(port: number, ...parts: string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  for (const part of parts) socket.write(part);
  return text(socket);
}

const get = (port: number, agent?: Agent): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ port, host: "127.0.0.1", agent: agent ?? false }, (res) => resolve(text(res)))
      .on("error", reject)
      .end();
  });

const head = (path: string, more = ""): string => `POST ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;

async function answerBody(req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.end(`${req.url} ${await text(req)}`);
}

describe("a listener", () => {
  it("that cannot be had is refused with the reason and how to fix it", async () => {
    const { port } = await startTcpServer();
    const failures = [
      [{ ...LOOPBACK, port }, `cannot listen on 127.0.0.1 port ${port}: the port is taken`],
      [{ host: "192.0.2.1", port: 0 }, "the host is no address of this machine"],
    ] as const;
    for (const [address, message] of failures) {
      const failure = { code: "unavailable", message: expect.stringContaining(message) as string };
      await expect(listen(address, () => undefined)).rejects.toMatchObject(failure);
    }
  });

  it("takes only so many connections at once", async () => {
    const { port } = await start((_req, res) => void res.end("here"));
    const sockets = Array.from({ length: LIMITS.connections }, () => connect(port, "127.0.0.1"));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    await expect(get(port)).rejects.toMatchObject({ code: "ECONNRESET" });
    sockets.pop()?.destroy();
    await vi.waitFor(async () => expect(await get(port)).toBe("here"));
    for (const socket of sockets) socket.destroy();
  });

  it("ends senders that are slow with the head or the body", async () => {
    const { port } = await start((req, res) => void answerBody(req, res).catch(() => undefined));
    const [silent, slowHead, slowBody] = await Promise.all([
      drip(port, ""),
      drip(port, "POST / HTTP/1.1\r\nhost: x\r\nx-slow: "),
      drip(port, head("/", "content-length: 1000\r\n")),
    ]);
    // The others may be told so too, unless a byte of theirs crosses the end of the connection.
    expect(silent.answer).toMatch(/^HTTP\/1.1 408 /);
    expect(silent.tookMs).toBeLessThan(slowBody.tookMs);
    expect(slowHead.tookMs).toBeLessThan(slowBody.tookMs);
  });
});

/** Sends a beginning and then a byte now and then, until the server ends the connection. Nothing at all if it is empty. */
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
  it("answers what is in progress, takes nothing new, and ends idle connections", async () => {
    const began = Promise.withResolvers<ServerResponse>();
    const listener = await start((req, res) => (req.url === "/" ? res.end("idle") : began.resolve(res)));
    const agent = new Agent({ keepAlive: true });
    await get(listener.port, agent);
    const pending = exchange(listener.port, head("/slow", "content-length: 0\r\n"));
    const res = await began.promise;
    const closed = listener.close();
    await expect(get(listener.port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    res.end("answered");
    expect(await pending).toMatch(/^HTTP\/1.1 200 OK.*answered$/s);
    await closed;
    agent.destroy();
  });

  it("processes nothing behind the last answer on an open connection", async () => {
    const seen: string[] = [];
    const began = Promise.withResolvers<() => void>();
    const answer = async ({ url }: { url: string }): Promise<Answer> => {
      seen.push(url);
      if (url === "/1") await new Promise<void>((resolve) => began.resolve(resolve));
      return { status: 200, headers: {}, body: url };
    };
    const listener = await start(toNodeListener({ answer }));
    const socket = connect(listener.port, "127.0.0.1");
    socket.write(head("/1", "content-length: 0\r\n"));
    const endFirst = await began.promise;
    const closed = listener.close();
    socket.write(head("/2", "content-length: 0\r\n") + head("/3", "content-length: 0\r\n"));
    await vi.waitFor(() => expect(seen).toContain("/2"));
    endFirst();
    expect(await text(socket)).toMatch(/\/1.*connection: close.*\/2$/is);
    await closed;
    expect(seen).toEqual(["/1", "/2"]);
  });

  it("cuts off what is not through in time", async () => {
    const listener = await start(() => undefined);
    const socket = connect(listener.port, "127.0.0.1");
    socket.write(head("/"));
    await once(socket, "ready");
    const ended = once(socket.resume(), "close");
    const startedMs = Date.now();
    await listener.close();
    await ended;
    expect(Date.now() - startedMs).toBeGreaterThan(450);
  });
});
