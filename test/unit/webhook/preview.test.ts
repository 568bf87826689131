import { describe, expect, test, vi } from "vitest";
import { UNKNOWN } from "../../../provider/lib/checks.js";
import type { WebhookInputs } from "../../../provider/webhook/state.js";
import * as lifecycle from "../../../provider/webhook/lifecycle.js";
import {
  FOREIGN,
  GET,
  OTHER_KEY,
  checked,
  failureOf,
  isolateRuns,
  remove,
  run,
  startAcme,
  startCreated,
} from "./harness.js";

const lines = isolateRuns();

/** Of a value that a preview does not know, the type says that it is known. */
const unknown = (name: keyof WebhookInputs): object => ({ [name]: UNKNOWN });

const previewCreate = (inputs: WebhookInputs) => lifecycle.previewCreate(inputs, { run });

describe("the preview of a create", () => {
  test("gives nothing where nothing is registered, and where another URL is to be replaced", async () => {
    const { args, actions, acme } = await startAcme();
    expect(await previewCreate(await checked(args))).toBeUndefined();
    acme.takeOver(FOREIGN);
    expect(await previewCreate(await checked({ ...args, onExisting: "replace" }))).toBeUndefined();
    expect(actions()).toEqual([...GET, ...GET]);
    expect(acme.registration).toMatchObject(FOREIGN);
    expect(lines).toEqual([]);
  });

  test("fails with the conflict that the create would meet", async () => {
    const { args, acme } = await startAcme();
    acme.takeOver(FOREIGN);
    const failure = await failureOf(previewCreate(await checked(args)));
    expect(failure).toMatchObject({ code: "conflict", facts: { registered: FOREIGN.webhook_url } });
  });

  test("finds two resources that reach one workspace by two addresses", async () => {
    const { args } = await startCreated();
    await previewCreate(await checked(args));
    const again = await checked({ ...args, name: "again", baseUrl: `${args.baseUrl}?of=another` });
    expect(await failureOf(previewCreate(again))).toMatchObject({ code: "conflict" });
  });

  test.each(["webhookUrl", "onExisting"] as const)(
    "says what is registered where %s is not known",
    async (name) => {
      const { args, acme } = await startAcme();
      acme.takeOver(FOREIGN);
      expect(await previewCreate(await checked({ ...args, ...unknown(name) }))).toBeUndefined();
      expect(lines).toEqual([expect.stringContaining(FOREIGN.webhook_url)]);
    },
  );

  test.each<[string, Partial<WebhookInputs>]>([
    ["cannot be reached", { baseUrl: "https://nowhere.invalid/" }],
    ["refuses the key", { apiKey: OTHER_KEY }],
  ])("warns of a service that %s", async (_, change) => {
    const { args } = await startAcme();
    expect(await previewCreate(await checked({ ...args, ...change }))).toBeUndefined();
    expect(lines).toEqual([expect.stringMatching(/^acme: warning: get-webhook at /)]);
  });

  test("waits five seconds for the service", async () => {
    const { args, emulator } = await startAcme();
    emulator.injectFault({ operation: "get-webhook", fault: { delayMs: 60_000 } });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const preview = previewCreate(await checked(args));
      await vi.waitUntil(() => emulator.requests.length > 0);
      vi.advanceTimersByTime(5_000);
      expect(await preview).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
    expect(lines.at(-1)).toMatch(/^acme: warning: .* no response within 5 s/);
  });
});
