import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { createDelivery } from "pulumi-apichat/responder";
import { deliverTo } from "../support/responder.ts";
import { KEY, makeHome, startResponder } from "./program.ts";

/** What docs/responder-server.md names as the limit. */
const CONNECTIONS = 2_000;

it("a responder takes deliveries while a sender without a key holds every connection open", async () => {
  const home = await makeHome();
  const { instance, origin } = await startResponder(home);
  const idle = async (): Promise<Socket> => {
    const socket = connect(instance.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => undefined);
    socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "data");
    return socket;
  };
  for (let open = 0; open < CONNECTIONS; open += 100) await Promise.all(Array.from({ length: 100 }, idle));
  for (let sent = 0; sent < 20; sent++) {
    expect(await deliverTo(`${origin}/acme`, KEY)).toBe(200);
    expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    await idle();
  }
});

it("a responder that gets SIGTERM answers what its senders have sent on open connections", async () => {
  const home = await makeHome();
  const { child, ended, instance } = await startResponder(home);
  const signed = await createDelivery("text", { verificationKey: KEY, url: "http://localhost/acme" });
  const [headers, body] = [Object.fromEntries(signed.headers), await signed.text()];
  let sent = 0;
  /** Delivers on one connection until a response ends it; each must be taken. */
  const send = async (): Promise<string> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    for (;;) {
      const options = {
        port: instance.port,
        host: "127.0.0.1",
        path: "/acme",
        method: "POST",
        headers,
        agent,
      };
      const [response] = await once(request(options).end(body), "response");
      await text(response);
      if (response.statusCode !== 200) return `HTTP ${response.statusCode}`;
      if (response.headers.connection === "close") return "told";
      sent++;
      if (sent === 300) child.kill("SIGTERM");
    }
  };
  const outcomes = await Promise.all(Array.from({ length: 30 }, () => send().catch(String)));
  expect(outcomes).toEqual(Array(30).fill("told"));
  expect((await ended).exitCode).toBe(0);
});
