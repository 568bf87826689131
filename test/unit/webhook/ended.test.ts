import { describe, expect, test } from "vitest";
import { ApiChatError } from "../../../provider/errors/index.js";
import type { Fault, FaultOperation } from "../../../provider/emulator/index.js";
import { webhookLifecycle } from "../../../provider/webhook/lifecycle.js";
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
  type Acme,
} from "./harness.js";

isolateRuns();

const REASON = new ApiChatError("timeout", "the run was ended", { operation: "set-webhook" });

/** Starts an operation, and aborts it once `when` returns true. */
async function end(work: (signal: AbortSignal) => Promise<unknown>, when: () => boolean): Promise<unknown> {
  const controller = new AbortController();
  const ended = work(controller.signal);
  ended.catch(() => {});
  await expect.poll(when).toBe(true);
  controller.abort(REASON);
  return ended;
}

/** Delays one action of the service. Returns a function that tells whether it has begun. */
function slow(
  { emulator }: Acme,
  operation: FaultOperation,
  fault: Fault = { delayMs: 60_000 },
): () => boolean {
  emulator.injectFault({ operation, fault });
  const before = emulator.requests.length;
  return () => emulator.requests.slice(before).some(({ action }) => action === operation);
}

describe("an aborted operation", () => {
  test("writes nothing during its first get-webhook", async () => {
    const started = await startCreated();
    const { state, args, actions } = started;
    const inputs = await checked(args);
    for (const work of [
      (signal: AbortSignal) => webhookLifecycle({ run: currentRun(), signal }).create(inputs),
      (signal: AbortSignal) => webhookLifecycle({ run: currentRun(), signal }).update("", state, inputs),
      (signal: AbortSignal) => webhookLifecycle({ run: currentRun(), signal }).read("", state),
    ]) {
      const error = await failureOf(end(work, slow(started, "get-webhook")));
      expect(error.summary).toMatch(/^the run was ended, while waiting for get-webhook at \S+, attempt 1$/);
      expect(actions()).toEqual(GET);
    }
  });

  test("never calls set-webhook while it waits for the endpoint", async () => {
    const { args, actions } = await startAcme();
    const { url, requests } = await startServer((_, response) => response.writeHead(503).end());
    const inputs = await checked({ ...args, webhookUrl: url, timeouts: { readySeconds: 60 } });
    const work = (signal: AbortSignal) => webhookLifecycle({ run: currentRun(), signal }).create(inputs);
    const error = await failureOf(end(work, () => requests.length >= 4));
    expect(error.summary).toMatch(
      /^the run was ended, while waiting for \S+ to answer the handshake, attempt/,
    );
    expect(actions()).toEqual(GET);
  });

  test("keeps the registration while it waits for the status", async () => {
    const { emulator, args, acme } = await startAcme({ statusAfterSet: "pending" });
    const inputs = await checked({ ...args, timeouts: { readySeconds: 60 } });
    const work = (signal: AbortSignal) => webhookLifecycle({ run: currentRun(), signal }).create(inputs);
    const { id, state } = await unfinishedBy(end(work, () => emulator.requests.length > SET.length));
    expect(id).toBe(acme.botUrl);
    expect(state).toMatchObject({ status: "pending", applied: { url: args.webhookUrl } });
  });
});

describe("the engine's time limit", () => {
  test("limits the wait of a create, without being recorded", async () => {
    const { args, acme } = await startAcme({ statusAfterSet: "pending" });
    const { timeouts: _, ...rest } = await checked(args);
    const { state, reasons } = await unfinishedBy(
      webhookLifecycle({ run: currentRun(), limitSeconds: 0.2 }).create(rest),
    );
    expect(reasons).toEqual([expect.stringContaining("after 0.2 s")]);
    expect(state).not.toHaveProperty("timeouts");
    acme.change({ webhook_status: "verified" });
    const after = await webhookLifecycle({ run: currentRun(), limitSeconds: 0.2 }).update("", state, rest);
    expect(after.outs).not.toHaveProperty("timeouts");
  });
});
