import { expect, test } from "vitest";
import { ApiChatError } from "../../../provider/errors/index.js";
import { webhookLifecycle } from "../../../provider/webhook/lifecycle.js";
import type { WebhookInputs, WebhookState } from "../../../provider/webhook/state.js";
import { startServer } from "../../support/http.js";
import {
  GET,
  SET,
  checked,
  failureOf,
  isolateRuns,
  currentRun,
  startAcme,
  startCreated,
  unfinishedBy,
} from "./harness.js";

isolateRuns();

const REASON = new ApiChatError("timeout", "the run was ended", { operation: "set-webhook" });

type Lifecycle = ReturnType<typeof webhookLifecycle>;

/** Starts an operation, and aborts it once `when` returns true. */
async function end(work: (lifecycle: Lifecycle) => Promise<unknown>, when: () => boolean): Promise<unknown> {
  const controller = new AbortController();
  const ended = work(webhookLifecycle({ run: currentRun(), signal: controller.signal }));
  ended.catch(() => {});
  await expect.poll(when).toBe(true);
  controller.abort(REASON);
  return ended;
}

test.each<[string, (on: Lifecycle, inputs: WebhookInputs, state: WebhookState) => Promise<unknown>]>([
  ["create", ({ create }, inputs) => create(inputs)],
  ["update", ({ update }, inputs, state) => update("", state, inputs)],
  ["read", ({ read }, _, state) => read("", state)],
])("%s writes nothing if it is aborted during its first get-webhook", async (_, operation) => {
  const { state, args, actions, emulator } = await startCreated();
  const inputs = await checked(args);
  emulator.injectFault({ operation: "get-webhook", fault: { delayMs: 60_000 } });
  const { length } = emulator.requests;
  const isAsking = (): boolean => emulator.requests.length > length;
  const error = await failureOf(end((on) => operation(on, inputs, state), isAsking));
  expect(error.summary).toMatch(/^the run was ended, while waiting for get-webhook at \S+, attempt 1$/);
  expect(actions()).toEqual(GET);
});

test("a create that is aborted while it waits for the endpoint never calls set-webhook", async () => {
  const { args, actions } = await startAcme();
  const { url, requests } = await startServer((_, response) => response.writeHead(503).end());
  const inputs = await checked({ ...args, webhookUrl: url, timeouts: { readySeconds: 60 } });
  const isTrying = (): boolean => requests.length >= 4;
  const error = await failureOf(end(({ create }) => create(inputs), isTrying));
  expect(error.summary).toMatch(/^the run was ended, while waiting for \S+ to answer the handshake, attempt/);
  expect(actions()).toEqual(GET);
});

test("a create that is aborted while it waits for the status keeps the registration", async () => {
  const { emulator, args, acme } = await startAcme({ statusAfterSet: "pending" });
  const inputs = await checked({ ...args, timeouts: { readySeconds: 60 } });
  const isWaiting = (): boolean => emulator.requests.length > SET.length;
  const { id, state } = await unfinishedBy(end(({ create }) => create(inputs), isWaiting));
  expect(id).toBe(acme.botUrl);
  expect(state).toMatchObject({ status: "pending", applied: { url: args.webhookUrl } });
});

test("the engine's time limit shortens a create's wait, but is not recorded in the state", async () => {
  const { args, acme } = await startAcme({ statusAfterSet: "pending" });
  const { timeouts: _, ...inputs } = await checked(args);
  const lifecycle = webhookLifecycle({ run: currentRun(), limitSeconds: 0.2 });
  const { state, reasons } = await unfinishedBy(lifecycle.create(inputs));
  expect(reasons).toEqual([expect.stringContaining("after 0.2 s")]);
  expect(state).not.toHaveProperty("timeouts");
  acme.change({ webhook_status: "verified" });
  expect((await lifecycle.update("", state, inputs)).outs).not.toHaveProperty("timeouts");
});
