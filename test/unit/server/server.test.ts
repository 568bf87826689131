import { once } from "node:events";
import { mkdir, stat } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createDelivery, createHandshake } from "../../../provider/responder/index.js";
import { startServer } from "../../../provider/server/server.js";
import { startReceiver } from "../../support/receiver.js";
import { findSecrets } from "../../support/secrets.js";
import { afterTests } from "../client/harness.js";
import { KEY, makeFolder, SECOND_KEY, writeConfig } from "./folders.js";
import { withDatabase } from "./spool-harness.js";
import { ACME, deliver, readFolder, startTestServer } from "./harness.js";

const keyOf = (workspace: string): string => `${workspace}-key-0123456789`;

describe("a responder as a server", () => {
  it("answers handshakes and takes deliveries of any number of workspaces", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
    const workspaces = Object.fromEntries(names.map((name) => [name, { verificationKeys: keyOf(name) }]));
    const { server, origin } = await startTestServer({ workspaces });
    for (const name of names) {
      const url = `${origin()}/${name}`;
      const answer = await fetch(createHandshake({ verificationKey: keyOf(name), url, challenge: name }));
      expect(await answer.text()).toBe(name);
      expect(await deliver(url, keyOf(name))).toBe(200);
      expect(await deliver(url, keyOf("w-other"))).toBe(401);
    }
    const { workspaces: seen } = server.status();
    expect(seen["w7"]).toEqual({ path: "/w7", forwards: false, pending: 1, deadLetters: 0 });
    expect(Object.keys(seen)).toHaveLength(20);
  });

  it("forwards, and forgets what it has forwarded", async () => {
    const receiver = await startReceiver();
    afterTests(() => receiver.close());
    const { server, origin } = await startTestServer({
      workspaces: { acme: { verificationKeys: KEY, forwardTo: receiver.url } },
    });
    expect(await deliver(`${origin()}/acme`)).toBe(200);
    await expect.poll(() => receiver.received.length).toBe(1);
    await expect.poll(() => server.status().workspaces["acme"]).toMatchObject({ forwards: true, pending: 0 });
  });

  it("takes no more headers than it can forward", async () => {
    const receiver = await startReceiver();
    afterTests(() => receiver.close());
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

  it("is not well while its spool is broken, and says why in the log", async () => {
    const { dataDir, origin } = await startTestServer();
    const url = `${origin()}/healthz`;
    const health = async (): Promise<number> => (await fetch(url)).status;
    expect(await health()).toBe(200);
    const table = (from: string, to: string): void =>
      withDatabase(join(dataDir, "spool.sqlite"), (database) =>
        database.exec(`ALTER TABLE ${from} RENAME TO ${to}`),
      );
    table("deliveries", "elsewhere");
    await expect.poll(health).toBe(503);
    expect(await health()).toBe(503);
    table("elsewhere", "deliveries");
    await expect.poll(health).toBe(200);
    expect(await deliver(`${origin()}/acme`)).toBe(200);
    const { "responder.log": log = "" } = await readFolder(dataDir);
    expect(log).toMatch(/"level":"error","event":"not well".*no such table/);
  });

  it("warns of a data folder that others can open, and leaves it as it is", async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, "data"), { mode: 0o755 });
    const { dataDir } = await startTestServer({}, folder);
    const { "responder.log": log = "" } = await readFolder(dataDir);
    expect(log).toContain(`chmod 700 ${dataDir}`);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o755);
  });

  it("writes no key and no message into its log and its announcement", async () => {
    const { dataDir, origin, server, configure } = await startTestServer();
    await deliver(`${origin()}/acme?${KEY}`, KEY, { text: "a private message" });
    await deliver(`${origin()}/${encodeURIComponent(KEY)}`);
    await deliver(`${origin()}/acme`, SECOND_KEY);
    await fetch(createHandshake({ verificationKey: KEY, url: `${origin()}/acme` }));
    await configure({ workspaces: { acme: { verificationKeys: [`${KEY} `] } } });
    await expect(server.reload()).rejects.toThrow("without white space");
    const { "responder.log": log = "", "instance.json": announced = "" } = await readFolder(dataDir);
    expect(log.split("\n").length).toBeGreaterThan(5);
    expect(findSecrets(log + announced, [KEY, SECOND_KEY])).toEqual([]);
    expect(log).not.toContain("private message");
    expect(log).not.toContain((JSON.parse(announced) as { token: string }).token);
  });
});

describe("the start of a responder", () => {
  it("fails on a data folder that another one has, and works when that one has stopped", async () => {
    const first = await startTestServer();
    const start = () => startServer({ configFile: first.configFile, log: "file" });
    await expect(start()).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining(`in use by the responder of process ${process.pid}`) as string,
    });
    expect(await deliver(`${first.origin()}/acme`)).toBe(200);
    expect(await first.announced()).toMatchObject({ instance: "test-instance" });
    await first.stop();
    const second = await start();
    expect(second.status().workspaces["acme"]).toMatchObject({ pending: 1 });
    second.stop();
    await second.stopped;
  });

  it("fails with the port that is taken, and leaves nothing behind that would hinder the next", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const folder = await makeFolder();
    const config = { port, dataDir: "data", workspaces: ACME };
    const start = async () => startServer({ configFile: await writeConfig(folder, config), log: "file" });
    await expect(start()).rejects.toMatchObject({ code: "unavailable" });
    await new Promise((resolve) => other.close(resolve));
    const server = await start();
    expect(server.status().port).toBe(port);
    server.stop();
    await server.stopped;
  });
});

describe("the graceful stop of a responder", () => {
  it("takes no other configuration on the way", async () => {
    const { server, stop } = await startTestServer();
    const stopped = stop();
    await expect(server.reload()).rejects.toMatchObject({ code: "unavailable" });
    await stopped;
  });

  it("is the same stop when asked for twice", async () => {
    const { stop, dataDir } = await startTestServer();
    await Promise.all([stop(), stop()]);
    const { "responder.log": log = "" } = await readFolder(dataDir);
    expect(log.match(/"event":"stopped"/g)).toHaveLength(1);
  });
});
