import { compactState } from "../../../provider/webhook/state.js";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ApiChatWebhook } from "../../../provider/dynamic.js";
import { switches, type Switches } from "../../../provider/emulator/switches.js";
import { diffWebhook } from "../../../provider/webhook/lifecycle.js";
import type { WebhookState } from "../../../provider/webhook/contract.js";
import {
  checked,
  create,
  errorOf,
  isolateRuns,
  parametersOf,
  read,
  refresh,
  startAcme,
  startRun,
  startServer,
  update,
  type Acme,
} from "./harness.js";

isolateRuns();

/** The readings of switches that are numbers or texts, and of those that need another beside them. */
const written: Partial<Record<keyof Switches, Switches[]>> = {
  statusAfterSet: [{ statusAfterSet: "pending", verifyAfterMs: 300 }],
  verifyAfterMs: [{ statusAfterSet: "pending", verifyAfterMs: 10 }],
  deliveryAttempts: [{ deliveryAttempts: 3 }],
  deliveryRetryMs: [{ deliveryRetryMs: 1 }],
  deliveryTimeoutMs: [{ deliveryTimeoutMs: 1 }],
  requestsPerSecond: [{ requestsPerSecond: 3 }],
  handshake: [
    ...(["form", "json", "multipart", "query"] as const).map((encoding) => ({ handshake: { encoding } })),
    ...(["hex", "digits", "long"] as const).map((challenge) => ({ handshake: { challenge } })),
    { handshake: { timeoutMs: 2000 } },
  ],
};

/** Every reading of one switch, from its schema where that lists them. */
function readingsOf(name: string, schema: z.ZodType): Switches[] {
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

const readings = Object.entries(switches).flatMap(([name, schema]) => readingsOf(name, schema));
const limits = { requestSeconds: 15, readySeconds: 15 };
const NEXT_KEY = "the-next-key-0123456789";

/** A webhook URL whose verification key changes without a stop: it answers whichever token comes. */
async function startRotating(options: Switches): Promise<Acme> {
  const started = await startAcme(options);
  const { origin } = await startServer((request, response) =>
    response.end(parametersOf(request)["hub_challenge"]),
  );
  const args = { ...started.args, webhookUrl: `${origin}/hook`, timeouts: limits };
  return { ...started, args };
}

/** What a status that comes late shows is no change of ours: the registration as it stands once it is verified. */
async function refreshUntilVerified(state: WebhookState): Promise<WebhookState> {
  for (;;) {
    const seen = await refresh(state);
    if (seen.status === "verified") return seen;
  }
}

test("every switch has at least one reading in this table", () => {
  expect(readings.length).toBeGreaterThan(Object.keys(switches).length);
});

describe("the life of a webhook where the specification is read as", () => {
  test.each(readings)("%j", { timeout: 60_000 }, async (options) => {
    const { acme, args } = await startRotating(options);
    const { outs: created } = await create(args);
    expect(acme.registration).toMatchObject({ webhook_url: args.webhookUrl });

    startRun();
    const settled = await refreshUntilVerified(created);
    expect(diffWebhook(settled, await checked(args)).changes).toBe(false);

    startRun();
    const rotatedArgs = { ...args, webhookVerificationKey: NEXT_KEY };
    expect(diffWebhook(settled, await checked(rotatedArgs)).changes).toBe(true);
    const rotated = await refreshUntilVerified(await update(settled, rotatedArgs));
    expect(acme.registration?.webhook_verification_key).toBe(NEXT_KEY);
    expect(diffWebhook(rotated, await checked(rotatedArgs)).changes).toBe(false);

    startRun();
    acme.change({ webhook_url: "http://127.0.0.1:9/changed", webhook_status: "failed" });
    const drifted = await refresh(rotated);
    expect(diffWebhook(drifted, await checked(rotatedArgs)).changes).toBe(true);

    const repaired = await refreshUntilVerified(await update(drifted, rotatedArgs));
    expect(acme.registration).toMatchObject({
      webhook_url: args.webhookUrl,
      webhook_verification_key: NEXT_KEY,
    });
    expect(diffWebhook(repaired, await checked(rotatedArgs)).changes).toBe(false);

    startRun();
    await ApiChatWebhook.delete(repaired.botUrl, compactState(repaired));
    expect(acme.registration).toBeUndefined();
    expect(await read(repaired)).toEqual({});
  });
});

describe("a handshake that the service does not see pass at first is waited out where it is read as", () => {
  test.each<Switches>([
    { failedHandshake: "keeps" },
    { failedHandshake: "clears" },
    ...(["errors", "text", "empty"] as const).map((errorShape) => ({ errorShape })),
  ])("%j", { timeout: 60_000 }, async (options) => {
    const { acme, args, emulator } = await startRotating(options);
    emulator.injectFault({ operation: "handshake", fault: { status: 500 } });
    await create(args);
    expect(acme.registration).toMatchObject({ webhook_url: args.webhookUrl, webhook_status: "verified" });
  });
});

test("one that failed is stored as such where it is read as unverified, and the next run sets it again", async () => {
  const { acme, args, emulator } = await startRotating({ failedHandshake: "unverified" });
  emulator.injectFault({ operation: "handshake", fault: { status: 500 } });
  const hasty = { ...args, timeouts: { ...limits, readySeconds: 0 } };
  expect((await errorOf(create(hasty))).message).toContain('status is "failed" and not "verified"');
  startRun();
  await create(args);
  expect(acme.registration).toMatchObject({ webhook_url: args.webhookUrl, webhook_status: "verified" });
});
