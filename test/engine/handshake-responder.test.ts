import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";
import type { DeliveryRecord, Workspace } from "pulumi-apichat/emulator";
import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { beforeAll, expect, test, vi } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { endProcessesNaming, processesNaming } from "../../tools/lib/processes.ts";
import { startReceiver, type Receiver } from "../support/receiver.ts";
import { deliverTo, environmentOf, respondersOn, responderEnvironment } from "../support/responder.ts";
import { callsOf, expectNoSecrets, openScene, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const FORWARD_TOKEN = "ft-token-0123456789";
const names = ["acme", "globex"] as const;
/** The interval between deliveries: the next is sent even if the previous one has no response yet. */
const DELIVERY_EVERY_MS = 15;
const CONVERSATIONS = 20;

let scene: Scene;
let stack: TestStack;
let receiver: Receiver;
let dataDir: string;
let started: { port: number; pid: number; dataDir: string; urls: Record<string, string> };

/** Two workspaces with a webhook each; acme's key rotates, and its deliveries are forwarded. */
const program =
  (rotation: string): PulumiFn =>
  async () => {
    const key = new VerificationKey("acme", { rotation });
    const responder = new HandshakeResponder("chat", {
      workspaces: {
        acme: { verificationKeys: key.keys, forwardTo: `${receiver.url}?token=${FORWARD_TOKEN}` },
        globex: { verificationKeys: VERIFICATION_KEY },
      },
    });
    const webhooks = names.map(
      (name) =>
        new ApiChatWebhook(name, {
          baseUrl: scene.emulator.workspace(name).baseUrl,
          apiKey: API_KEY,
          webhookUrl: responder.urls[name],
          webhookVerificationKey: name === "acme" ? key.current : VERIFICATION_KEY,
          timeouts: { readySeconds: 5 },
        }),
    );
    const { urls, port, pid } = responder;
    return { urls, port, pid, dataDir: responder.dataDir, statuses: webhooks.map(({ status }) => status) };
  };

beforeAll(async () => {
  [scene, receiver] = await Promise.all([openScene(names, { deliveryTimeoutMs: 20_000 }), startReceiver()]);
  stack = await createStack(scene.backend, {
    program: program("first"),
    environment: responderEnvironment(scene.backend),
  });
});
const secrets = [FORWARD_TOKEN];
const registeredKey = (): string =>
  scene.emulator.workspace("acme").registration?.webhook_verification_key ?? "";
const outputsOf = async (): Promise<typeof started> => (await stack.outputs()) as typeof started;

test("a responder starts in the up that needs it to verify webhooks, and keeps running afterwards", async () => {
  const { changes } = await stack.up();
  expect(changes).toEqual({ create: 6 });
  secrets.push(registeredKey());
  started = await outputsOf();
  ({ dataDir } = started);
  expect(dataDir).toMatch(/\/state\/pulumi-apichat\/test\/dev-[0-9a-f]{12}\/chat$/);
  expect(started.urls).toEqual({
    acme: `http://127.0.0.1:${started.port}/acme`,
    globex: `http://127.0.0.1:${started.port}/globex`,
  });
  for (const name of names) {
    expect(scene.emulator.workspace(name).registration).toMatchObject({
      webhook_url: started.urls[name],
      webhook_status: "verified",
    });
  }
  expect(await respondersOn(dataDir)).toEqual([started.pid]);
  const health = await fetch(`http://127.0.0.1:${started.port}/healthz`);
  expect(await health.json()).toEqual({ status: "ok" });
});

test("a responder's environment, command line, log, state and output contain no secret", async () => {
  const environment = await environmentOf(started.pid);
  const allowed =
    /^(PATH|HOME|TZ|LANG|TMPDIR|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;
  expect(Object.keys(environment).filter((name) => !allowed.test(name))).toEqual([]);
  const [info] = await processesNaming(dataDir);
  const log = await readFile(join(dataDir, "responder.log"), "utf8");
  const shown = JSON.stringify([environment, info?.commandLine, log]);
  expect(findSecrets(shown, [VERIFICATION_KEY, ...secrets])).toEqual([]);
  await expectNoSecrets(stack, secrets);
  const { token } = JSON.parse(await readFile(join(dataDir, "instance.json"), "utf8")) as { token: string };
  expect(await stack.state()).not.toContain(token);
});

test("a responder neither loses nor rejects a delivery during a rotation, even while set-webhook fails", async () => {
  const acme = scene.emulator.workspace("acme");
  const first = registeredKey();
  scene.emulator.injectFault({ operation: "set-webhook", every: 1, fault: { status: 400 } });
  stack.run(program("second"));
  const records = await deliverDuring(acme, () => stack.fails("up"));
  expect(registeredKey()).toBe(first);
  scene.emulator.clearFaults();
  // The failed up has already updated the key and the responder, so only acme's webhook is left to update.
  const rotate = async () => expect(await stack.up()).toMatchObject({ changes: { same: 5, update: 1 } });
  records.push(...(await deliverDuring(acme, rotate, records.length)));

  secrets.push(registeredKey());
  expect(registeredKey()).not.toBe(first);
  expect(await outputsOf(), "it was not restarted").toMatchObject(started);
  expect(records.filter(({ verdict }) => verdict !== "delivered").map(({ reason }) => reason)).toEqual([]);
  const everyNumber = records.map((_, number) => number);
  await expect.poll(() => receivedNumbers(receiver), { timeout: 60_000 }).toEqual(everyNumber);
});

test("after kill -9, an up with refresh restarts the responder on the same port, and changes no webhook", async () => {
  await endProcessesNaming(dataDir);
  const writes = callsOf(scene, "set-webhook").length;
  const { changes } = await stack.up({ refresh: true });
  expect(changes).toMatchObject({ create: 1, same: 5 });
  expect(callsOf(scene, "set-webhook")).toHaveLength(writes);
  const again = await outputsOf();
  expect(again.urls).toEqual(started.urls);
  expect(again.pid).not.toBe(started.pid);
  expect(await respondersOn(dataDir)).toEqual([again.pid]);
  expect(await deliverTo(again.urls["acme"] ?? "", registeredKey())).toBe(200);
});

test("destroy stops the responder, keeps deliveries that were not forwarded, and warns about them", async () => {
  expect(await deliverTo(started.urls["globex"] ?? "", VERIFICATION_KEY)).toBe(200);
  const { output } = await stack.destroy();
  expect(await respondersOn(scene.backend.folder)).toEqual([]);
  expect(output).toMatch(new RegExp(`chat: warning: 1 delivery .*${dataDir}`));
  const kept = await readdir(dataDir);
  expect(kept).toContain("spool.sqlite");
  expect(kept.filter((file) => !file.startsWith("spool.sqlite"))).toEqual(["owner.txt"]);
  await expectNoSecrets(stack, secrets);
});

/** Sends a delivery every few ms until `work` is done, then 100 more. The text of each is its number. */
async function deliverDuring(
  { deliver }: Pick<Workspace, "deliver">,
  work: () => Promise<unknown>,
  firstNumber = 0,
): Promise<DeliveryRecord[]> {
  const records: Promise<DeliveryRecord>[] = [];
  const send = (): void => {
    const number = firstNumber + records.length;
    const message = { sender_id: "7", message_type: "outgoing", private: false, type: "text" } as const;
    records.push(deliver({ ...message, conv_id: number % CONVERSATIONS, text: String(number) }));
  };
  const timer = setInterval(send, DELIVERY_EVERY_MS);
  await work();
  const count = records.length + 100;
  await vi.waitUntil(() => records.length >= count, { timeout: 120_000 });
  clearInterval(timer);
  return Promise.all(records);
}

/** The numbers of the deliveries that reached the receiver. */
const receivedNumbers = ({ received }: Receiver): number[] =>
  received
    .map(({ body }) => Number((JSON.parse(body.toString("utf8")) as { text: string }).text))
    .toSorted((a, b) => a - b);
