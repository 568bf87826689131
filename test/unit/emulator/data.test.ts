import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
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
import {
  apiKey,
  call,
  control,
  inbound,
  outbound,
  refused,
  set,
  start,
  startEndpoint,
  startHeldEndpoint,
} from "./harness.js";
import { makeFolder } from "../../support/folder.ts";

async function makeFile(): Promise<string> {
  const folder = await makeFolder();
  return join(folder, "emulator.sqlite");
}

const workspaces: EmulatorOptions["workspaces"] = [{ name: "acme", apiKey }];
const acmePath = "/_emulator/workspaces/acme";

/** Everything that an emulator shows, without its own addresses. */
async function showAll(emulator: Emulator): Promise<unknown> {
  const lists = ["workspaces", "conversations", "handshakes", "deliveries", "requests"];
  const shown = await Promise.all(
    lists.map(async (name) => (await control(emulator, `GET /_emulator/${name}?reveal=true`)).text),
  );
  return shown.map((text) => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+(?=\/(?:api|acme|globex)\/)/g, ""));
}

describe("an emulator with data", () => {
  test("has the same state after a restart, at its new ports", async () => {
    const data = await makeFile();
    const { url } = await startEndpoint();
    const first = await start({ data, workspaces });
    const acme = first.workspace("acme");
    await set(acme, url);
    first.injectFault({ operation: "delivery", fault: "close-after" });
    const failed = await acme.deliver({ ...outbound("Olá"), conv_id: 9007199254740993n });
    await control(first, `POST ${acmePath}/messages`, inbound("hello"));
    const { order } = await first.waitForDelivery({ verdict: "delivered" }, { after: failed });
    first.addWorkspace({ name: "globex", apiKey: "key-of-globex-0123", botCode: "globex-bot" });
    first.workspace("globex").change({ botBaseUrl: "http://127.0.0.2:9" });
    acme.apiKey = "rotated-key-0123456789";
    const before = await showAll(first);
    await first.close();

    const second = await start({ data, workspaces });
    expect(await showAll(second)).toEqual(before);
    const restored = second.workspace("acme");
    expect(restored.apiKey).toBe("rotated-key-0123456789");
    expect(restored.deliveries[0]).toMatchObject({
      conversationId: "9007199254740993",
      message: { text: "Olá" },
      attempts: [{ fault: '"close-after"' }],
    });
    expect(restored.botUrl.startsWith(second.botUrl)).toBe(true);
    expect(second.workspace("globex").botUrl).toBe("http://127.0.0.2:9/api/apichat/globex-bot");
    const registered = { webhook_url: url, bot_url: restored.botUrl };
    expect((await call(restored, "get-webhook")).body).toMatchObject({ data: registered });
    expect((await restored.deliver(outbound("next"))).order).toBeGreaterThan(order);
  });

  test("also removes from the file what was reset or removed, and gives no id twice", async () => {
    const data = await makeFile();
    const first = await start({ data, workspaces });
    first.addWorkspace({ name: "globex", apiKey: "key-of-globex-0123" });
    await set(first.workspace("acme"), (await startEndpoint()).url);
    const { order } = await first.workspace("acme").deliver(outbound("before"));
    const held = await startHeldEndpoint();
    const setting = set(first.workspace("acme"), held.url);
    const finish = await held.asked;
    await first.reset();
    // Deliveries in progress end after the reset, and are not recorded.
    finish();
    await setting;
    first.removeWorkspace("globex");
    await first.close();
    const second = await start({ data, deliveryTimeoutMs: 1 });
    expect([...second.workspaces.keys()]).toEqual(["acme"]);
    const acme = second.workspace("acme");
    expect([second.requests, acme.deliveries, acme.conversations]).toEqual([[], [], []]);
    expect((await acme.deliver(outbound("after"))).order).toBeGreaterThan(order);
  });
});

describe("the file", () => {
  test("is for its owner and for one emulator at a time, and health shows its path", async () => {
    const data = await makeFile();
    const first = await start({ data, workspaces });
    for (const path of [data, `${data}-wal`]) expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await control(first, "GET /_emulator/health")).body).toMatchObject({ data });
    await expect(startEmulator({ data })).rejects.toThrow(refused("another process holds the file"));
    await first.close();
    expect([...(await start({ data })).workspaces.keys()]).toEqual(["acme"]);
  });

  test("is released if the emulator cannot start for a different reason, and needs an existing folder", async () => {
    const data = await makeFile();
    await expect(startEmulator({ data: join(data, "nowhere") })).rejects.toThrow(refused("ENOENT"));
    const port = Number(new URL((await start()).url).port);
    await expect(startEmulator({ data, port })).rejects.toThrow(refused(String(port)));
    const unknown: EmulatorOptions = { data, workspaces: [{ name: "acme", apiKey, flow: "nope" }] };
    await expect(startEmulator(unknown)).rejects.toThrow(refused("nope"));
    await start({ data });
  });

  test("drops what the lists drop, so it does not grow without limit", async () => {
    const data = await makeFile();
    const first = await start({ data, workspaces });
    await call(first.workspace("acme"), "get-webhook");
    const [template] = first.requests as [RecordedRequest];
    await first.close();
    const state = createEmptyState();
    const store = new EmulatorStore(data);
    store.attach(state);
    for (let count = 0; count < HISTORY_LIMIT * 1.3; count += 1) {
      const request = { ...template, ...nextRecord(state, "request") };
      keep(state.requests, request);
      state.changes.publish({ type: "request", request });
    }
    store.close();
    const kept = (await start({ data })).requests.map(({ order }) => order);
    // The entries that the list drops at once, and those until the next check.
    expect(kept.length).toBeLessThanOrEqual(HISTORY_LIMIT * 1.1 + 1000);
    const newest = state.requests.map(({ order }) => order).slice(-HISTORY_LIMIT);
    expect(kept.slice(-HISTORY_LIMIT)).toEqual(newest);
  });
});

/** The parts of an emulator that the store uses. */
function createEmptyState(): EmulatorState {
  const flows: EmulatorState["flows"] = new Map([["echo", () => []]]);
  const origins = { registration: "http://127.0.0.1:1", bot: "http://127.0.0.1:2" };
  const state: Partial<EmulatorState> = { directory: new Map(), requests: [], flows, lastOrder: 0, origins };
  return { ...state, changes: new ChangeHub() } as EmulatorState;
}
