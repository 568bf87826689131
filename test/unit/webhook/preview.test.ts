import { runtime } from "@pulumi/pulumi";
import type { MockResourceArgs } from "@pulumi/pulumi/runtime/mocks.js";
import { describe, expect, test, vi } from "vitest";
import { ApiChatWebhook } from "../../../provider/index.js";
import { UNKNOWN } from "../../../provider/pulumi/unknown.js";
import type { Registration } from "../../../provider/client/index.js";
import type { WebhookInputs, WebhookState } from "../../../provider/webhook/state.js";
import * as foresee from "../../../provider/webhook/foresee.js";
import {
  FOREIGN,
  GET,
  OTHER_KEY,
  checked,
  failureOf,
  isolateRuns,
  currentRun,
  startAcme,
  startCreated,
  type Acme,
} from "./harness.js";

const lines = isolateRuns();

/** Returns the registration that would be adopted. Prints messages and throws conflicts, as the plugin does. */
async function previewCreate(inputs: WebhookInputs): Promise<Registration | undefined> {
  const { seen, conflict, line } = await foresee.previewCreate(inputs, { run: currentRun() });
  if (conflict) throw conflict;
  if (line) lines.push(`${line.kind}: ${line.text}`);
  return seen;
}

describe("the preview of a create", () => {
  test("reports nothing for an empty workspace or a replacement", async () => {
    const { args, actions, acme } = await startAcme();
    expect(await previewCreate(await checked(args))).toBeUndefined();
    acme.takeOver(FOREIGN);
    expect(await previewCreate(await checked({ ...args, onExisting: "replace" }))).toBeUndefined();
    expect(actions()).toEqual([...GET, ...GET]);
    expect(acme.registration).toMatchObject(FOREIGN);
    expect(lines).toEqual([]);
  });

  test("detects two resources that reach one workspace through two addresses", async () => {
    const { args } = await startCreated();
    await previewCreate(await checked(args));
    const again = await checked({ ...args, name: "again", baseUrl: `${args.baseUrl}?of=another` });
    expect(await failureOf(previewCreate(again))).toMatchObject({ code: "conflict" });
  });

  test.each<[keyof WebhookInputs, calls: string[]]>([
    ["webhookUrl", GET],
    ["onExisting", GET],
    ["baseUrl", []],
    ["apiKey", []],
  ])("with an unknown %s, calls %j and shows what it finds", async (name, calls) => {
    const { args, acme, actions } = await startAcme();
    acme.takeOver(FOREIGN);
    // The type claims that the value is known, although a preview does not know it.
    const inputs = await checked({ ...args, ...({ [name]: UNKNOWN } as object) });
    expect(await previewCreate(inputs)).toBeUndefined();
    expect(actions()).toEqual(calls);
    expect(lines).toEqual(calls.map((): unknown => expect.stringContaining(FOREIGN.webhook_url)));
  });

  test.each<[string, Partial<WebhookInputs>]>([
    ["cannot be reached", { baseUrl: "https://nowhere.invalid/" }],
    ["rejects the key", { apiKey: OTHER_KEY }],
  ])("warns of a service that %s", async (_, change) => {
    const { args } = await startAcme();
    expect(await previewCreate(await checked({ ...args, ...change }))).toBeUndefined();
    expect(lines).toEqual([expect.stringMatching(/^warning: get-webhook at /)]);
  });

  test("waits at most five seconds for the service", async () => {
    const { args, emulator } = await startAcme();
    emulator.injectFault({ operation: "get-webhook", fault: { delayMs: 60_000 } });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const preview = previewCreate(await checked(args));
      // Not vi.waitUntil, which also advances the fake clock.
      while (emulator.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(5_000);
      expect(await preview).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
    expect(lines.at(-1)).toMatch(/^warning: .* no response within 5 s/);
  });
});

const newResource = ({ inputs }: MockResourceArgs) => ({ id: undefined, state: inputs as object });

test("a preview with a user's mocks sends no request", async () => {
  const { args, actions } = await startAcme();
  await runtime.setMocks({ call: () => ({}), newResource }, "project", "dev", true);
  const { name, ...given } = args;
  const webhook = new ApiChatWebhook(name, given);
  expect(webhook.botUrl).toBe(webhook.id);
  await runtime.disconnect();
  // Removes the mocks, because other test files share this worker.
  runtime.resetOptions("", "", -1, "", "", false, "");
  expect(actions()).toEqual([]);
});

const previewUpdate = async (
  { args, state }: Acme & { state: WebhookState },
  news: Partial<WebhookInputs>,
) => {
  const inputs = await checked({ ...args, ...news });
  return (await foresee.previewUpdate(state, inputs, { run: currentRun() }))?.text;
};

test("the preview of an update reports nothing if it finds no reason why the update will fail", async () => {
  const created = await startCreated();
  expect(await previewUpdate(created, { webhookUrl: `${created.args.webhookUrl}/moved` })).toBeUndefined();
  expect(created.actions()).toEqual(GET);
});

test.each<[string, RegExp, (acme: Acme) => Partial<WebhookInputs>]>([
  ["a conflict", /^pulumi up will fail: .*\/foreign/, ({ acme }) => (acme.takeOver(FOREIGN), {})],
  ["a 404", /^pulumi up will fail: .*HTTP 404/, ({ args }) => ({ baseUrl: `${args.baseUrl}/nowhere` })],
  ["a rejected key", /^pulumi up will fail: .*HTTP 401/, () => ({ apiKey: "ak-wrong-0123456789" })],
  ["an unreachable service", /^cannot tell whether/, () => ({ baseUrl: "http://service.invalid/" })],
])("the preview of an update warns of %s", async (_, text, change) => {
  const created = await startCreated();
  const news = { onExisting: "fail" as const, ...change(created) };
  expect(await previewUpdate(created, news)).toMatch(text);
  expect(created.actions()).not.toContain("set-webhook");
});
