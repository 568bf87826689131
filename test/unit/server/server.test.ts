import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createDelivery } from "../../../provider/responder/index.js";
import { readInstance } from "../../../provider/server/data-dir.js";
import { startServer } from "../../../provider/server/server.js";
import { startReceiver } from "../../support/receiver.js";
import { countsOf, deliver, KEY, SECOND_KEY, startTestServer } from "./harness.js";
import { holdDisk } from "./spool-harness.js";

it("accepts only as many headers as it can forward", async () => {
  const receiver = await startReceiver();
  const { origin } = await startTestServer({
    workspaces: { acme: { verificationKeys: KEY, forwardTo: receiver.url } },
  });
  const statuses: number[] = [];
  const lengths = [14_000, ...Array.from({ length: 30 }, (_, step) => 15_700 + step * 20)];
  for (const bytes of lengths) {
    const request = await createDelivery("text", { url: `${origin}/acme`, verificationKey: KEY });
    request.headers.set("x-long", "x".repeat(bytes));
    statuses.push((await fetch(request)).status);
  }
  expect(new Set(statuses)).toEqual(new Set([200, 431]));
  const taken = statuses.filter((status) => status === 200).length;
  await expect.poll(() => receiver.received.length).toBe(taken);
});

it("is healthy while the disk hangs, and not ready until the disk responds", async () => {
  const { origin, dataDir } = await startTestServer();
  const endHold = holdDisk(join(dataDir, "spool.sqlite"));
  const statuses: Record<string, number> = {};
  const probe = async (path: string) => (statuses[path] = (await fetch(`${origin}/${path}`)).status);
  const ready = probe("readyz");
  await probe("healthz");
  expect(statuses).toEqual({ healthz: 200 });
  endHold();
  await ready;
  expect(statuses).toEqual({ healthz: 200, readyz: 200 });
});

it("starts on another responder's data folder only after that responder has stopped", async () => {
  const first = await startTestServer();
  const start = () => startServer({ configFile: first.configFile, instance: "second" });
  // A failed attempt must not release the first responder's lock.
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(start()).rejects.toMatchObject({
      code: "conflict",
      summary: `dataDir ${first.dataDir} is in use by the responder of process ${process.pid}`,
      hints: [{ id: "own_data_dir" }],
    });
  }
  expect(await deliver(`${first.origin}/acme`)).toBe(200);
  expect(await readInstance(first.dataDir)).toEqual(first.instance);
  await first.stop();
  const second = await start();
  expect(countsOf(first.dataDir)).toMatchObject({ pending: 1 });
  second.stop();
  await second.stopped;
});

const forward = (forwardTo: string) => ({ workspaces: { acme: { verificationKeys: KEY, forwardTo } } });

it("never forwards to itself, forwards to a new target, and gives up after the configured time", async () => {
  const { server, origin, configure, dataDir, log } = await startTestServer();
  const url = `${origin}/acme`;
  await configure(forward(url));
  await server.reload();
  expect(await deliver(url)).toBe(200);
  await expect.poll(log).toContain('"not forwarded","workspace":"acme"');
  expect(await log()).toContain('"forwards to itself","workspace":"acme"');
  const receiver = await startReceiver();
  await configure({ ...forward(receiver.url), forwardWithinSeconds: 1 });
  await server.reload();
  const counts = () => countsOf(dataDir);
  await expect.poll(counts).toMatchObject({ pending: 0, deadLetters: 0 });
  expect(receiver.received).toHaveLength(1);
  receiver.answerWith(500);
  expect(await deliver(url)).toBe(200);
  await expect.poll(counts).toMatchObject({ pending: 0, deadLetters: 1 });
});

const withKeys = (...verificationKeys: string[]) => ({ workspaces: { acme: { verificationKeys } } });

describe("a reload", () => {
  it("adds and removes workspaces, and warns of keys that others can read", async () => {
    const { server, origin, configure, configFile, log } = await startTestServer();
    expect(await deliver(`${origin}/acme`)).toBe(200);
    const file = `${configFile}.key`;
    await writeFile(file, SECOND_KEY, { mode: 0o644 });
    await configure({ workspaces: { beta: { verificationKeys: { file }, path: "/b" } } });
    expect(await log()).not.toContain("chmod 600");
    await server.reload();
    expect(await deliver(`${origin}/b`, SECOND_KEY)).toBe(200);
    expect(await deliver(`${origin}/acme`)).toBe(404);
    expect(await log()).toContain(`chmod 600 ${file}`);
  });

  it.each<[string, string | object]>([
    ["is not JSON", "{"],
    ["is wrong", { port: "x" }],
    ["changes the data folder", { dataDir: "elsewhere" }],
    ["changes the host", { host: "0.0.0.0" }],
    ["changes the port", { port: 8 }],
  ])("changes nothing if the configuration %s", async (_what, config) => {
    const { server, origin, configure, log } = await startTestServer();
    await configure(typeof config === "string" ? config : { ...withKeys(SECOND_KEY), ...config });
    await expect(server.reload()).rejects.toMatchObject({ code: "invalid_config" });
    expect([await deliver(`${origin}/acme`), await deliver(`${origin}/acme`, SECOND_KEY)]).toEqual([
      200, 401,
    ]);
    expect(await log()).toContain('"not reloaded"');
  });
});
