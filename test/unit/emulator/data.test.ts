import { mkdtemp, rm, stat, writeFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  ChangeHub,
  HISTORY_LIMIT,
  keep,
  nextRecord,
  type EmulatorState,
  type RecordedRequest,
} from "../../../provider/emulator/state.js";
import { EmulatorStore } from "../../../provider/emulator/store.js";
import { startEmulator, type Emulator, type EmulatorOptions } from "../../../provider/emulator/index.js";
import { control, inbound, reply } from "./control-harness.js";
import { apiKey, call, set, startEndpoint, startHeldEndpoint, verificationKey } from "./harness.js";

async function makeFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-emulator-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "emulator.sqlite");
}

async function start(data: string, options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await startEmulator({ data, ...options });
  onTestFinished(() => emulator.close());
  return emulator;
}

const acmeOnly: EmulatorOptions = { workspaces: [{ name: "acme", apiKey }] };

const refused = (text: string): unknown =>
  expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(text) });

/** What an emulator shows of itself; addresses of its own are left out. */
async function showAll(emulator: Emulator): Promise<unknown> {
  const lists = ["workspaces", "conversations", "handshakes", "deliveries", "requests"];
  const shown = await Promise.all(
    lists.map(async (name) => (await control(emulator, `GET /_emulator/${name}?reveal=true`)).text),
  );
  return shown.map((text) => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+(?=\/(?:api|acme|globex)\/)/g, ""));
}

describe("an emulator with data", () => {
  test("is after a restart what it was before, at its new ports", async () => {
    const data = await makeFile();
    const { url } = await startEndpoint();
    const first = await start(data, acmeOnly);
    const acme = first.workspace("acme");
    await set(acme, url);
    first.injectFault({ operation: "delivery", fault: "close-after" });
    await acme.deliver({ ...reply, conv_id: 9007199254740993n });
    await control(first, "POST /_emulator/workspaces/acme/messages", inbound);
    await first.waitForDelivery({ verdict: "delivered" }, { after: acme.deliveries[0] ?? { order: 0 } });
    first.addWorkspace({ name: "globex", apiKey: "key-of-globex-0123", botCode: "globex-bot" });
    acme.apiKey = "rotated-key-0123456789";
    const before = await showAll(first);
    const { lastOrder } = { lastOrder: acme.deliveries.at(-1)?.order ?? 0 };
    await first.close();

    const second = await start(data, acmeOnly);
    expect(await showAll(second)).toEqual(before);
    const restored = second.workspace("acme");
    expect(restored.deliveries[0]).toMatchObject({
      conversationId: "9007199254740993",
      message: { text: "Olá" },
      attempts: [{ fault: '"close-after"' }],
    });
    expect(restored.botUrl.startsWith(second.botUrl)).toBe(true);
    expect(restored.apiKey).toBe("rotated-key-0123456789");
    expect((await call(restored, "get-webhook")).json()).toMatchObject({
      data: { webhook_url: url, bot_url: restored.botUrl },
    });
    expect((await restored.deliver(reply)).order).toBeGreaterThan(lastOrder);
  });

  test("keeps a bot on the host to which it was moved", async () => {
    const data = await makeFile();
    const first = await start(data, acmeOnly);
    first.workspace("acme").change({ botBaseUrl: "http://127.0.0.2:9" });
    await first.close();
    const second = await start(data);
    expect(second.workspace("acme").botUrl).toMatch(/^http:\/\/127\.0\.0\.2:9\//);
  });

  test("goes on with the deliveries that were pending when it was closed", async () => {
    const data = await makeFile();
    const held = await startHeldEndpoint();
    const first = await start(data, acmeOnly);
    first.workspace("acme").takeOver({ webhook_url: held.url, webhook_verification_key: verificationKey });
    await control(first, "POST /_emulator/workspaces/acme/replies", reply);
    await control(first, "POST /_emulator/workspaces/acme/replies", { ...reply, text: "second" });
    await held.asked;
    await first.close();
    const { received, url } = await startEndpoint();
    const second = await start(data);
    second.workspace("acme").takeOver({ webhook_url: url, webhook_verification_key: verificationKey });
    await held.close();
    await expect
      .poll(() => second.workspace("acme").deliveries.map(({ verdict }) => verdict))
      .not.toContain("pending");
    expect(second.workspace("acme").deliveries).toHaveLength(2);
    expect(received.length).toBeGreaterThan(0);
  });

  test("forgets in the file too what was reset or removed, and gives no id twice", async () => {
    const data = await makeFile();
    const first = await start(data, acmeOnly);
    first.addWorkspace({ name: "globex", apiKey: "key-of-globex-0123" });
    await set(first.workspace("acme"), (await startEndpoint()).url);
    const { order } = await first.workspace("acme").deliver(reply);
    await first.reset();
    first.removeWorkspace("globex");
    await first.close();
    const second = await start(data);
    expect([...second.workspaces.keys()]).toEqual(["acme"]);
    expect(second.requests).toEqual([]);
    expect(second.workspace("acme").deliveries).toEqual([]);
    expect((await second.workspace("acme").deliver(reply)).order).toBeGreaterThan(order);
  });

  test("needs the flow that a workspace answers with, and says which", async () => {
    const data = await makeFile();
    const first = await start(data, {
      workspaces: [{ name: "acme", apiKey, flow: "orders" }],
      flows: { orders: () => [] },
    });
    await first.close();
    await expect(startEmulator({ data })).rejects.toThrow(refused('"orders"'));
    const again = await start(data, { flows: { orders: () => [] } });
    expect(again.workspace("acme").flow).toBe("orders");
  });

  test("takes a function again as the flow of a workspace", async () => {
    const data = await makeFile();
    const options: EmulatorOptions = {
      workspaces: [{ name: "acme", apiKey, flow: () => [{ type: "text", text: "mine" }] }],
    };
    await (await start(data, options)).close();
    const again = await start(data, options);
    await control(again, "POST /_emulator/workspaces/acme/messages", inbound);
    expect(await again.waitForMessage({ from: "flow" })).toMatchObject({ body: { text: "mine" } });
  });
});

describe("the file", () => {
  test("is for its owner only, and shows the path in health", async () => {
    const data = await makeFile();
    const emulator = await start(data, acmeOnly);
    expect((await stat(data)).mode & 0o777).toBe(0o600);
    expect((await stat(`${data}-wal`)).mode & 0o777).toBe(0o600);
    expect((await control(emulator, "GET /_emulator/health")).body).toMatchObject({ data });
  });

  test("is for one emulator at a time", async () => {
    const data = await makeFile();
    const first = await start(data, acmeOnly);
    await expect(startEmulator({ data })).rejects.toThrow(refused("another process holds the file"));
    await first.close();
    expect([...(await start(data)).workspaces.keys()]).toEqual(["acme"]);
  });

  test("that is something else is refused by name, and left as it is", async () => {
    const data = await makeFile();
    await writeFile(data, "a diary, and no database of any kind", { mode: 0o644 });
    await expect(startEmulator({ data })).rejects.toThrow(refused(data));
    expect(await readFile(data, "utf8")).toBe("a diary, and no database of any kind");
    expect((await stat(data)).mode & 0o777).toBe(0o644);
  });

  test("of another program, or of another release, is refused by name, and left as it is", async () => {
    for (const [pragma, said] of [
      ["user_version = 1", "another program's tables"],
      ["application_id = 1634756965; PRAGMA user_version = 99", "version 99"],
    ] as const) {
      const data = await makeFile();
      const database = new DatabaseSync(data);
      database.exec(`CREATE TABLE t (x); PRAGMA ${pragma}`);
      database.close();
      const before = await readFile(data);
      await expect(startEmulator({ data })).rejects.toThrow(refused(said));
      expect((await readFile(data)).equals(before)).toBe(true);
    }
  });

  test("in a folder that is not there is refused by name", async () => {
    const data = join(await makeFile(), "nowhere", "emulator.sqlite");
    await expect(startEmulator({ data })).rejects.toThrow(refused("ENOENT"));
  });

  test("is let go when the emulator cannot start for another reason", async () => {
    const data = await makeFile();
    const holder = await startEmulator();
    onTestFinished(() => holder.close());
    const port = Number(new URL(holder.url).port);
    await expect(startEmulator({ data, port })).rejects.toThrow(refused(String(port)));
    await expect(
      startEmulator({ data, workspaces: [{ name: "acme", apiKey, flow: "nope" }] }),
    ).rejects.toThrow(refused("nope"));
    await start(data);
  });
});

test("the file forgets with the lists: it does not grow without end", async () => {
  const data = await makeFile();
  const first = await start(data, acmeOnly);
  await call(first.workspace("acme"), "get-webhook");
  const [template] = first.requests;
  await first.close();
  const state = createEmptyState();
  const store = new EmulatorStore(data);
  store.attach(state);
  for (let count = 0; count < HISTORY_LIMIT * 1.3; count += 1) {
    const request = { ...(template as RecordedRequest), ...nextRecord(state, "request") };
    keep(state.requests, request);
    state.changes.publish({ kind: "request", request });
  }
  store.close();
  const second = await start(data);
  const kept = second.requests.map(({ order }) => order);
  // What the list drops at once, and what comes until the next look at it.
  expect(kept.length).toBeLessThanOrEqual(HISTORY_LIMIT * 1.1 + 1000);
  expect(kept.slice(-state.requests.length)).toEqual(state.requests.map(({ order }) => order));
}, 30_000);

/** What the store needs of an emulator. */
function createEmptyState(): EmulatorState {
  const flows: EmulatorState["flows"] = new Map([["echo", () => []]]);
  const origins = { registration: "http://127.0.0.1:1", bot: "http://127.0.0.1:2" };
  const state: Partial<EmulatorState> = { directory: new Map(), requests: [], flows, lastOrder: 0, origins };
  return { ...state, changes: new ChangeHub() } as EmulatorState;
}
