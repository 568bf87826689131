import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { ApiChatWebhook } from "pulumi-apichat";
import { startEmulator, type EmulatorOptions, type Workspace } from "pulumi-apichat/emulator";
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

const forAll = (value: (name: string) => string | undefined) =>
  Object.fromEntries(names.map((name) => [name, value(name)]));

describe("the lifecycle of a webhook under every reading of the specification's open points", () => {
  /** The workspace of each reading has its name: one stack cannot register one bot twice. */
  const workspaces = new Map<string, Workspace>();
  let endpoint: Endpoint;
  let stack: TestStack;

  const workspace = (name: string): Workspace => workspaces.get(name) as Workspace;
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
    for (const name of names) {
      const emulator = await startEmulator({ ...readings[name], workspaces: [{ name, apiKey: API_KEY }] });
      afterTests(() => emulator.close());
      workspaces.set(name, emulator.workspace(name));
    }
    stack = await createStack(await createBackend(), { program: program() });
  });

  test("up registers each, and then nothing differs", async () => {
    expect((await stack.up()).changes).toEqual({ create: names.length + 1 });
    expect(registered("webhook_url")).toEqual(forAll(urlOf));
    expect(registered("webhook_status")).toEqual(forAll(() => "verified"));
    const { changes } = await stack.preview({ refresh: true, expectNoChanges: true });
    expect(changes).toEqual({ same: names.length + 1 });
  });

  test("another key is pushed to each, and a URL that somebody changed is found and set right", async () => {
    for (const name of names) workspace(name).change({ webhook_url: `${endpoint.url}/changed` });
    stack.run(program(NEXT_KEY));
    expect((await stack.up({ refresh: true })).changes).toEqual({ same: 1, update: names.length });
    expect(registered("webhook_url")).toEqual(forAll(urlOf));
    expect(registered("webhook_verification_key")).toEqual(forAll(() => NEXT_KEY));
  });

  test("destroy leaves nothing, and no secret is in the output or in the state", async () => {
    await expectNoSecrets(stack, [NEXT_KEY]);
    await stack.destroy();
    expect(registered("webhook_url")).toEqual(forAll(() => undefined));
  });
});
