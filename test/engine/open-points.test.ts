import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { ApiChatWebhook } from "pulumi-apichat";
import { startEmulator, type Emulator, type EmulatorOptions, type Workspace } from "pulumi-apichat/emulator";
import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { afterTests } from "../support/http.ts";
import { expectNoSecrets } from "../support/scene.ts";
import { createBackend, createStack, type TestStack } from "../support/stack.ts";

/** Every reading that touches the registration, each served by an emulator of its own. The first is the default. */
const readings: Record<string, EmulatorOptions> = {
  default: {},
  "handshake-json": { handshake: { encoding: "json" } },
  "handshake-query": { handshake: { encoding: "query" } },
  "challenge-digits": { handshake: { challenge: "digits" } },
  "challenge-long": { handshake: { challenge: "long" } },
  "failed-handshake-clears": { failedHandshake: "clears" },
  "failed-handshake-unverified": { failedHandshake: "unverified" },
  "before-null-fields": { beforeFirstSet: "null-fields" },
  "before-nulls": { beforeFirstSet: "nulls" },
  "before-missing": { beforeFirstSet: "missing" },
  "before-empty-array": { beforeFirstSet: "empty-array" },
  "before-not-found": { beforeFirstSet: "not-found" },
  "mask-key": { maskKey: true },
  "normalize-url": { normalizeUrl: true },
  "status-pending": { statusAfterSet: "pending", verifyAfterMs: 300 },
  "error-errors": { errorShape: "errors" },
  "error-text": { errorShape: "text" },
  "error-empty": { errorShape: "empty" },
  "key-body-or-bearer": { registrationKey: "body-or-bearer" },
  "rate-limited": { requestsPerSecond: 3 },
};
const names = Object.keys(readings).toSorted();

const NEXT_KEY = `next-${VERIFICATION_KEY}`;

const forAll = (value: (name: string) => string) =>
  Object.fromEntries(names.map((name) => [name, value(name)]));

/** Its workspace has the reading's name: the code of the bot comes from it, and one stack cannot register one bot twice. */
async function startReading(name: string): Promise<Emulator> {
  const emulator = await startEmulator({ ...readings[name], workspaces: [{ name, apiKey: API_KEY }] });
  afterTests(() => emulator.close());
  return emulator;
}

describe("the lifecycle of a webhook under every reading of the specification's open points", () => {
  let emulators: Map<string, Emulator>;
  let endpoint: Endpoint;
  let stack: TestStack;

  const workspace = (name: string): Workspace => (emulators.get(name) as Emulator).workspace(name);
  const urlOf = (name: string): string => `${endpoint.url}/${name}/`;

  const program =
    (webhookVerificationKey = VERIFICATION_KEY): PulumiFn =>
    async () => {
      for (const name of names) {
        const { baseUrl } = workspace(name);
        const webhookUrl = urlOf(name);
        void new ApiChatWebhook(name, { baseUrl, apiKey: API_KEY, webhookUrl, webhookVerificationKey });
      }
    };

  const registered = (field: "webhook_url" | "webhook_verification_key" | "webhook_status") =>
    Object.fromEntries(names.map((name) => [name, workspace(name).registration?.[field]]));

  beforeAll(async () => {
    endpoint = await startEndpoint({ keys: [VERIFICATION_KEY, NEXT_KEY] });
    const started = names.map(async (name) => [name, await startReading(name)] as const);
    emulators = new Map(await Promise.all(started));
    stack = await createStack(await createBackend(), { program: program() });
  });
  test("up registers each", async () => {
    expect((await stack.up()).changes).toEqual({ create: names.length + 1 });
    expect(registered("webhook_url")).toEqual(forAll(urlOf));
    expect(registered("webhook_status")).toEqual(forAll(() => "verified"));
  });

  test("refresh and preview find nothing to change", async () => {
    const same = { same: names.length + 1 };
    expect((await stack.refresh({ expectNoChanges: true })).changes).toEqual(same);
    expect((await stack.preview({ expectNoChanges: true })).changes).toEqual(same);
  });

  test("another key is pushed to each", async () => {
    stack.run(program(NEXT_KEY));
    expect((await stack.up()).changes).toEqual({ same: 1, update: names.length });
    expect(registered("webhook_verification_key")).toEqual(forAll(() => NEXT_KEY));
  });

  test("a URL that somebody changed is found by refresh and set right by up", async () => {
    for (const name of names) workspace(name).change({ webhook_url: `${endpoint.url}/changed` });
    expect((await stack.refresh()).changes).toEqual({ same: 1, update: names.length });
    await stack.up();
    expect(registered("webhook_url")).toEqual(forAll(urlOf));
  });

  test("destroy leaves nothing", async () => {
    await stack.destroy();
    expect(registered("webhook_url")).toEqual(Object.fromEntries(names.map((name) => [name, undefined])));
  });

  test("no secret is in the output or in the state", () => expectNoSecrets(stack, [NEXT_KEY]));
});
