import { describe, expect, test } from "vitest";
import * as z from "zod";
import { RegistrationClient } from "../../../provider/client/index.js";
import { switches, type Switches } from "../../../provider/emulator/open-point-options.js";
import type { WebhookState } from "../../../provider/webhook/state.js";
import { getWebhookIfAny } from "../../../provider/registration/index.js";
import { lookUpRegistration } from "../../../provider/webhook/read.js";
import { startServer } from "../../support/http.js";
import { answerAnyToken } from "../diagnosis/harness.js";
import {
  create,
  hasChanges,
  isolateRuns,
  read,
  refresh,
  rejectHandshake,
  remove,
  startAcme,
  startRun,
  update,
  type Acme,
} from "./harness.js";

isolateRuns();

/** The readings of switches with numbers or strings, and of switches that need a second one. */
const written: Partial<Record<keyof Switches, Switches[]>> = {
  statusAfterSet: [{ statusAfterSet: "pending", verifyAfterMs: 300 }],
  verifyAfterMs: [{ statusAfterSet: "pending", verifyAfterMs: 10 }],
  deliveryAttempts: [{ deliveryAttempts: 3 }],
  deliveryRetryMs: [{ deliveryRetryMs: 1 }],
  deliveryTimeoutMs: [{ deliveryTimeoutMs: 1 }],
  requestsPerSecond: [{ requestsPerSecond: 3 }],
  flowKey: [
    ...(["bearer", "raw", "body", "none"] as const).map((flowKey) => ({ flowKey })),
    { flowKey: { header: "X-Flow-Key" } },
  ],
  handshake: [
    ...(["form", "json", "multipart", "query"] as const).map((encoding) => ({ handshake: { encoding } })),
    ...(["hex", "digits", "long"] as const).map((challenge) => ({ handshake: { challenge } })),
    { handshake: { timeoutMs: 2000 } },
  ],
};

/** Returns every reading of a switch, from its schema if that lists them. */
function readingsOf([name, schema]: [string, z.ZodType]): Switches[] {
  const inner = schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  if (inner instanceof z.ZodEnum) {
    // The resource has no option for a bearer token yet: apiKeyAs of RegistrationClient.
    const options = inner.options.filter((reading) => reading !== "body-and-bearer");
    return options.map((reading) => ({ [name]: reading }));
  }
  if (inner instanceof z.ZodBoolean) return [{ [name]: true }, { [name]: false }];
  const found = written[name as keyof Switches];
  if (found === undefined) throw new Error(`${name}: write its readings into this test`);
  return found;
}

const NEXT_KEY = "the-next-key-0123456789";

/** Starts an endpoint that accepts any token, so the verification key can change. */
async function startRotating(options: Switches): Promise<Acme> {
  const started = await startAcme(options);
  const { url } = await startServer(answerAnyToken);
  Object.assign(started.args, {
    webhookUrl: `${url}/hook`,
    timeouts: { requestSeconds: 15, readySeconds: 15 },
  });
  return started;
}

/** Waits until the service verifies the webhook, and returns the state. */
async function refreshUntilVerified(state: WebhookState): Promise<WebhookState> {
  for (;;) {
    const seen = await refresh(state);
    if (seen.status === "verified") return seen;
  }
}

describe("the lifecycle of a webhook, with the reading", () => {
  test.each(Object.entries(switches).flatMap(readingsOf))("%j", { timeout: 60_000 }, async (options) => {
    const { acme, args } = await startRotating(options);
    const created = await create(args);
    expect(acme.registration).toMatchObject({ webhook_url: args.webhookUrl });

    startRun();
    const settled = await refreshUntilVerified(created);
    expect(await hasChanges(settled, args)).toBe(false);

    startRun();
    const rotatedArgs = { ...args, webhookVerificationKey: NEXT_KEY };
    expect(await hasChanges(settled, rotatedArgs)).toBe(true);
    const rotated = await refreshUntilVerified(await update(settled, rotatedArgs));
    expect(acme.registration?.webhook_verification_key).toBe(NEXT_KEY);
    expect(await hasChanges(rotated, rotatedArgs)).toBe(false);

    startRun();
    acme.change({ webhook_url: "http://127.0.0.1:9/changed", webhook_status: "failed" });
    const drifted = await refresh(rotated);
    expect(await hasChanges(drifted, rotatedArgs)).toBe(true);

    const repaired = await refreshUntilVerified(await update(drifted, rotatedArgs));
    expect(acme.registration).toMatchObject({
      webhook_url: args.webhookUrl,
      webhook_verification_key: NEXT_KEY,
    });
    expect(await hasChanges(repaired, rotatedArgs)).toBe(false);

    startRun();
    await remove(repaired);
    expect(acme.registration).toBeUndefined();
    expect(await read(repaired)).toBeUndefined();
  });
});

test("HTTP 404 means nothing registered only if a webhook is about to be set", async () => {
  const { args } = await startAcme({ beforeFirstSet: "not-found" });
  const client = new RegistrationClient(args);
  expect(await getWebhookIfAny(client)).toBeUndefined();
  const notFound = { code: "rejected", httpStatus: 404 };
  await expect(client.getWebhook()).rejects.toMatchObject(notFound);
  await expect(lookUpRegistration(args.baseUrl, args.apiKey)).rejects.toMatchObject(notFound);
  expect(await create(args)).toMatchObject({ status: "verified" });
});

test.each<Switches>([
  { failedHandshake: "keeps" },
  { failedHandshake: "clears" },
  ...(["errors", "text", "empty"] as const).map((errorShape) => ({ errorShape })),
])(
  "set-webhook is retried while the service's handshake fails: %j",
  async (options) => {
    const { acme, args, emulator, actions } = await startRotating(options);
    emulator.injectFault({ ...rejectHandshake, times: 2 });
    await create(args);
    expect(acme.registration).toMatchObject({ webhook_url: args.webhookUrl, webhook_status: "verified" });
    expect(actions().filter((action) => action === "set-webhook")).toHaveLength(3);
  },
  60_000,
);
