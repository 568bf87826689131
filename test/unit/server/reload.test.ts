import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startReceiver } from "../../support/receiver.js";
import { afterTests } from "../client/harness.js";
import { KEY, SECOND_KEY } from "./folders.js";
import { deliver, startTestServer } from "./harness.js";

const withKeys = (...verificationKeys: string[]) => ({ workspaces: { acme: { verificationKeys } } });

describe("a reload", () => {
  it("refuses no request while keys come and go", async () => {
    const { server, origin, configure } = await startTestServer();
    const url = `${origin()}/acme`;
    const over = new AbortController();
    const statuses: number[] = [];
    const send = async (): Promise<void> => {
      while (!over.signal.aborted) statuses.push(await deliver(url));
    };
    const senders = Array.from({ length: 4 }, send);
    for (let round = 0; round < 10; round++) {
      const fresh = `key-of-round-${round}-0123456789`;
      const former = `key-of-round-${round - 1}-0123456789`;
      await configure(withKeys(...(round % 2 === 0 ? [fresh, KEY] : [KEY, fresh])));
      const before = statuses.length;
      await server.reload();
      expect(await deliver(url, fresh)).toBe(200);
      expect(await deliver(url, former)).toBe(401);
      await expect.poll(() => statuses.length).toBeGreaterThan(before);
    }
    over.abort();
    await Promise.all(senders);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(server.status().workspaces["acme"]?.pending).toBe(statuses.length + 10);
  });

  it("adds and removes workspaces, and states the digest of what is applied", async () => {
    const { server, origin, configure, configFile } = await startTestServer();
    expect(await deliver(`${origin()}/acme`)).toBe(200);
    await configure({ workspaces: { beta: { verificationKeys: SECOND_KEY, path: "/b" } } });
    const status = await server.reload();
    expect(await deliver(`${origin()}/b`, SECOND_KEY)).toBe(200);
    expect(await deliver(`${origin()}/acme`)).toBe(404);
    expect(status.configDigest).toBe(
      createHash("sha256")
        .update(await readFile(configFile))
        .digest("hex"),
    );
    // The rows of the workspace that is gone are still told of.
    expect(status.workspaces).toEqual({
      beta: { path: "/b", forwards: false, pending: 0, deadLetters: 0 },
      acme: { forwards: false, pending: 1, deadLetters: 0 },
    });
  });

  it("forwards what was kept once it is told where to", async () => {
    const receiver = await startReceiver();
    afterTests(() => receiver.close());
    const { server, origin, configure } = await startTestServer();
    expect(await deliver(`${origin()}/acme`)).toBe(200);
    await configure({ workspaces: { acme: { verificationKeys: KEY, forwardTo: receiver.url } } });
    await server.reload();
    await expect.poll(() => receiver.received.length).toBe(1);
    await expect.poll(() => server.status().workspaces["acme"]?.pending).toBe(0);
  });

  it("gives up earlier once it is told to", async () => {
    const receiver = await startReceiver();
    afterTests(() => receiver.close());
    receiver.answerWith(500);
    const workspaces = { acme: { verificationKeys: KEY, forwardTo: receiver.url } };
    const { server, origin, configure } = await startTestServer({ workspaces });
    await configure({ workspaces, forwardWithinSeconds: 1 });
    await server.reload();
    expect(await deliver(`${origin()}/acme`)).toBe(200);
    const counts = () => server.status().workspaces["acme"];
    await expect.poll(counts, { timeout: 5_000 }).toMatchObject({ pending: 0, deadLetters: 1 });
  });

  it.each([
    ["is not JSON", "{"],
    ["is wrong", { port: "x" }],
    ["moves the data folder", { dataDir: "elsewhere" }],
    ["moves the host", { host: "0.0.0.0" }],
    ["moves the port", { port: 8 }],
  ])("changes nothing if the configuration %s", async (_what, config) => {
    const { server, origin, configure, dataDir } = await startTestServer(withKeys(KEY));
    const before = server.status();
    await configure(typeof config === "string" ? config : { ...withKeys(SECOND_KEY), ...config });
    await expect(server.reload()).rejects.toMatchObject({ code: "invalid_config" });
    expect(server.status()).toEqual(before);
    expect(await deliver(`${origin()}/acme`, KEY)).toBe(200);
    expect(await deliver(`${origin()}/acme`, SECOND_KEY)).toBe(401);
    expect(await readFile(join(dataDir, "responder.log"), "utf8")).toContain('"not reloaded"');
  });

  it("refuses to forward to itself on the free port that it has, and stays as it was", async () => {
    const { server, origin, configure } = await startTestServer();
    const before = server.status();
    const forwardTo = `${origin()}/acme`;
    await configure({ workspaces: { acme: { verificationKeys: SECOND_KEY, forwardTo } } });
    await expect(server.reload()).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining("this responder's own workspace acme") as string,
    });
    expect(server.status()).toEqual(before);
    expect(await deliver(forwardTo)).toBe(200);
  });

  it("tells again of key files that others can read", async () => {
    const { server, configure, dataDir } = await startTestServer();
    const keyFile = join(dataDir, "..", "key");
    await writeFile(keyFile, SECOND_KEY, { mode: 0o644 });
    const warnings = async () => (await readFile(join(dataDir, "responder.log"), "utf8")).match(/chmod 600/g);
    expect(await warnings()).toBeNull();
    await configure({ workspaces: { acme: { verificationKeys: { file: keyFile } } } });
    await server.reload();
    expect(await warnings()).toHaveLength(1);
  });

  it("keeps the port that it has when the configuration leaves it free", async () => {
    const { server, origin, configure } = await startTestServer();
    const before = origin();
    await configure(withKeys(KEY, SECOND_KEY));
    await server.reload();
    expect(origin()).toBe(before);
  });
});
