import { describe, expect, test } from "vitest";
import type { WebhookInputs } from "../../../provider/webhook/state.js";
import {
  FOREIGN,
  GET,
  OTHER_KEY,
  SET,
  VERIFICATION_KEY,
  failureOf,
  isolateRuns,
  refresh,
  rejectHandshake,
  startCreated,
  startEndpoint,
  startRun,
  update,
  type Acme,
} from "./harness.js";

const lines = isolateRuns();

const ROTATED = "ak-rotated-0123456789";
const hasty = { requestSeconds: 3, readySeconds: 0 };

describe("an update", () => {
  test.each<Partial<WebhookInputs>>([{ preflight: "off" }, { timeouts: { requestSeconds: 5 } }])(
    "calls only get-webhook for a changed input that the service does not store: %j",
    async (change) => {
      const { state, args, actions } = await startCreated();
      expect(await update(state, { ...args, ...change })).toEqual({ ...state, ...change });
      expect(actions()).toEqual(GET);
    },
  );

  test("restores the live registration if the service rejects the new URL and key", async () => {
    const { state, args, acme, emulator } = await startCreated({ failedHandshake: "clears", maskKey: true });
    const before = acme.registration;
    const next = "next-key-0123456789";
    const { url: webhookUrl } = await startEndpoint(next, "/moved");
    emulator.injectFault(rejectHandshake);
    const change = { webhookUrl, webhookVerificationKey: next, timeouts: hasty };
    const error = await failureOf(update(state, { ...args, ...change }));
    expect(error.code).toBe("rejected");
    expect(error.summary).toContain(`Restored: ${args.webhookUrl}`);
    expect(acme.registration).toEqual(before);
  });
});

describe("a change behind our back", () => {
  test.each<[Parameters<Acme["acme"]["change"]>[0] | "gone", boolean]>([
    ["gone", false],
    [{ webhook_status: "failed" }, false],
    [{ webhook_status: "failed" }, true],
    [{ webhook_verification_key: "changed-key-0123456789" }, false],
    [{ webhook_verification_key: "changed-key-0123456789" }, true],
    [{ webhook_url: FOREIGN.webhook_url }, true],
    [{ webhook_url: `${FOREIGN.webhook_url}?token=query-value` }, true],
  ])("is reverted: %j, after a refresh: %j", async (change, refreshes) => {
    const { state, args, actions, acme } = await startCreated();
    const before = acme.registration;
    if (change === "gone") acme.removeRegistration();
    else acme.change(change);
    const seen = refreshes ? await refresh(state) : state;
    expect(seen.applied).toEqual(state.applied);
    expect(JSON.stringify(seen)).not.toContain("query-value");
    actions();
    expect(await update(seen, args)).toEqual(state);
    expect(actions()).toEqual(SET);
    expect(acme.registration).toEqual(before);
  });

  test("is a conflict if only the URL differs, until a refresh has shown it", async () => {
    const { state, args, actions, acme } = await startCreated();
    acme.change({ webhook_url: FOREIGN.webhook_url });
    expect(await failureOf(update(state, args))).toMatchObject({
      code: "conflict",
      subject: "acme",
      facts: { registered: FOREIGN.webhook_url },
      hints: [{ id: "refresh_first" }],
    });
    expect(actions()).toEqual(GET);
  });

  test("is a conflict if the URL and the key differ, even after a refresh, unless onExisting is replace", async () => {
    const { state, args, acme } = await startCreated();
    acme.takeOver(FOREIGN);
    for (const seen of [state, await refresh(state)]) {
      const { code, hints } = await failureOf(update(seen, args));
      const hint = { id: "remove_other", baseUrl: args.baseUrl, webhookUrl: FOREIGN.webhook_url };
      expect([code, hints]).toEqual(["conflict", [hint, { id: "take_over" }]]);
      expect(acme.registration).toMatchObject(FOREIGN);
    }
    const replacing = { ...args, onExisting: "replace" } as const;
    const after = await update(state, replacing);
    expect(after).toEqual({ ...state, onExisting: "replace" });
    expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
    startRun();
    await update(after, replacing);
    expect(lines).toEqual([expect.stringMatching(/^acme: replaced .*may be removed now$/)]);
  });

  test("is accepted if the program now wants the same URL", async () => {
    const { state, args, acme, actions } = await startCreated();
    const { url } = await startEndpoint(VERIFICATION_KEY, "/moved");
    acme.change({ webhook_url: url });
    expect(await update(state, { ...args, webhookUrl: url })).toMatchObject({ applied: { url } });
    expect(actions()).toEqual(GET);
  });

  test("is recorded, and nothing is set, if only the bot's host is new", async () => {
    const { state, args, acme, actions } = await startCreated();
    acme.change({ botBaseUrl: "https://bots.example" });
    const { botUrl } = acme;
    const after = await update(await refresh(state), args);
    expect(after).toMatchObject({ botUrl, applied: { botUrl } });
    expect(actions()).toEqual([...GET, ...GET]);
  });

  test("is a conflict if the bot differs, even with onExisting replace", async () => {
    const { state, args, acme, actions } = await startCreated();
    acme.change({ botCode: "another-bot" });
    const error = await failureOf(update(state, { ...args, onExisting: "replace" }));
    expect(error).toMatchObject({ code: "conflict", facts: { bot: "another-bot" } });
    expect(error.hints).toEqual([{ id: "other_workspace" }]);
    expect(actions()).toEqual(GET);
  });
});

test("a changed address or API key that reaches the same bot is recorded, and nothing is set", async () => {
  const { state, args, emulator, actions } = await startCreated();
  const moved = emulator.addWorkspace({ name: "moved", apiKey: ROTATED });
  moved.change({ routeTo: "acme" });
  const change = { baseUrl: moved.baseUrl, apiKey: ROTATED };
  const after = await update(state, { ...args, ...change });
  expect(after).toMatchObject({ ...change, botUrl: state.botUrl });
  expect(after.applied.apiKey).not.toBe(state.applied.apiKey);
  expect(actions()).toEqual(GET);
});

test.each([
  ["another bot", FOREIGN],
  ["an empty workspace, which does not show its bot", undefined],
])("a changed address or API key is a conflict if it reaches %s", async (_, registered) => {
  const { state, args, emulator, actions } = await startCreated();
  const other = emulator.workspace("other");
  if (registered) other.takeOver(registered);
  const change = { baseUrl: other.baseUrl, apiKey: OTHER_KEY, onExisting: "replace" } as const;
  const { code, hints } = await failureOf(update(state, { ...args, ...change }));
  expect([code, hints]).toEqual(["conflict", [{ id: "other_workspace" }]]);
  expect(actions()).toEqual(GET);
  expect(other.registration?.webhook_url).toBe(registered?.webhook_url);
});
