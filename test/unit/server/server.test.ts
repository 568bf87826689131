import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createDelivery } from "../../../provider/responder/index.js";
import { startServer } from "../../../provider/server/server.js";
import { startTcpServer } from "../../support/http.js";
import { startReceiver } from "../../support/receiver.js";
import { ACME, deliver, KEY, makeFolder, startTestServer, writeConfig } from "./harness.js";

describe("a responder as a server", () => {
  it("takes no more headers than it can forward", async () => {
    const receiver = await startReceiver();
    const { origin } = await startTestServer({
      workspaces: { acme: { verificationKeys: KEY, forwardTo: receiver.url } },
    });
    const statuses: number[] = [];
    const lengths = [14_000, ...Array.from({ length: 30 }, (_, step) => 15_700 + step * 20)];
    for (const bytes of lengths) {
      const request = await createDelivery("text", { url: `${origin()}/acme`, verificationKey: KEY });
      request.headers.set("x-long", "x".repeat(bytes));
      statuses.push((await fetch(request)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 431]));
    const taken = statuses.filter((status) => status === 200).length;
    await expect.poll(() => receiver.received.length).toBe(taken);
  });

  it("warns of a data folder that others can open, and leaves it as it is", async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, "data"), { mode: 0o755 });
    const { dataDir, log } = await startTestServer({}, folder);
    expect(await log()).toContain(`chmod 700 ${dataDir}`);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o755);
  });
});

describe("the start of a responder", () => {
  it("fails on a data folder that another one has, and works when that one has stopped", async () => {
    const first = await startTestServer();
    const start = () => startServer({ configFile: first.configFile, log: "file" });
    await expect(start()).rejects.toMatchObject({ code: "conflict" });
    expect(await deliver(`${first.origin()}/acme`)).toBe(200);
    expect(await first.announced()).toMatchObject({ instance: "test-instance" });
    await first.stop();
    const second = await start();
    expect(second.status().workspaces["acme"]).toMatchObject({ pending: 1 });
    second.stop();
    await second.stopped;
  });

  it("fails with the port that is taken, and leaves nothing behind that would hinder the next", async () => {
    const { port, close } = await startTcpServer();
    const configFile = await writeConfig(await makeFolder(), { port, dataDir: "data", workspaces: ACME });
    const start = () => startServer({ configFile, log: "file" });
    await expect(start()).rejects.toMatchObject({ code: "unavailable" });
    await close();
    const server = await start();
    expect(server.status().port).toBe(port);
    server.stop();
    await server.stopped;
  });
});

it("takes no other configuration while it stops, and stops once when asked for twice", async () => {
  const { server, stop, log } = await startTestServer();
  const stopped = [stop(), stop()];
  await expect(server.reload()).rejects.toMatchObject({ code: "unavailable" });
  await Promise.all(stopped);
  expect((await log()).match(/"event":"stopped"/g)).toHaveLength(1);
});
