import { randomBytes } from "node:crypto";
import type { LambdaHttpResult } from "pulumi-apichat/responder/lambda";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { functionUrlEvent, type SentRequest } from "../support/lambda-events.ts";
import { findSecrets } from "../support/secrets.ts";
import { startAwsEndpoint, type AwsEndpoint } from "./aws-endpoint.ts";
import {
  type LambdaFunction,
  bundleFunction,
  BYTES,
  derivation,
  KEYS_PARAMETER,
  keyOf,
  signDelivery,
  startReceive,
} from "./aws-functions.ts";

const KEY = await keyOf("2026-09");
const NEXT_KEY = await keyOf("2026-12");
const BODY_LIMIT_BYTES = 700 * 1024;

let aws: AwsEndpoint;

beforeAll(async () => {
  aws = await startAwsEndpoint();
});

beforeEach(() => {
  aws.reset();
  aws.parameters.set(KEYS_PARAMETER, derivation("2026-09"));
});

function handshake(token: string): SentRequest {
  const parameters = { hub_mode: "subscribe", hub_verify_token: token, hub_challenge: "c1" };
  return { body: new URLSearchParams(parameters).toString() };
}

/** Waits until the function may read the keys again: it does so at most once a second. */
async function untilKeysMayBeReadAgain({ parameterReads }: AwsEndpoint): Promise<void> {
  const lastMs = parameterReads.at(-1) ?? 0;
  // Waits 3 s: the second begins with the response, which on a busy machine arrives long after the request.
  await vi.waitFor(() => expect(Date.now() - lastMs).toBeGreaterThan(3_000), { timeout: 20_000 });
}

describe("the receiving function", () => {
  let receive: LambdaFunction;
  const request = (sent: SentRequest): Promise<LambdaHttpResult> => receive.invoke(functionUrlEvent(sent));

  beforeAll(async () => {
    receive = await startReceive(aws);
  });

  afterAll(() => expect(findSecrets(receive.output(), [KEY, NEXT_KEY])).toEqual([]));

  test("accepts a handshake, and rejects one with a wrong token", async () => {
    expect(await request(handshake(KEY))).toMatchObject({ statusCode: 200, body: "c1" });
    expect(await request(handshake("wrong"))).toMatchObject({ statusCode: 401 });
  });

  test("queues a delivery with its bytes, end-to-end headers, an id, and its conversation as the group", async () => {
    expect(await request(await signDelivery(BYTES, KEY))).toMatchObject({ statusCode: 200 });
    const [message] = aws.messages;
    const queued = JSON.parse(message?.MessageBody ?? "");
    expect(Buffer.from(queued.body, "base64")).toEqual(BYTES);
    const names = queued.headers.map(([name]: [string]) => name);
    expect(names).toEqual(expect.arrayContaining(["x-hub-signature-256", "x-flow-ns", "x-action"]));
    expect(names).not.toContain("host");
    expect(names).not.toContain("x-amzn-trace-id");
    expect(message).toMatchObject({
      QueueUrl: aws.queueUrl("deliveries"),
      MessageGroupId: "7",
      MessageDeduplicationId: queued.id,
    });
  });

  test("queues equal deliveries twice, and each delivery without a conversation in a separate group", async () => {
    for (const body of ['{"conv_id":1}', '{"conv_id":1}', "{}", "{}", '{"conv_id":12345678901234567890}']) {
      expect(await request(await signDelivery(body, KEY))).toMatchObject({ statusCode: 200 });
    }
    const groups = aws.messages.map(({ MessageGroupId }) => MessageGroupId);
    expect(groups.slice(0, 2)).toEqual(["1", "1"]);
    expect(new Set(groups.slice(2, 4)).size).toBe(2);
    expect(groups[4]).toBe("12345678901234567890");
  });

  test("responds with 503 and Retry-After, and logs a line, if the queue rejects the delivery", async () => {
    aws.failWith = { status: 400, type: "AccessDeniedException" };
    const result = await request(await signDelivery(BYTES, KEY));
    expect(result).toMatchObject({ statusCode: 503, headers: { "retry-after": "5" } });
    await expect.poll(() => receive.output()).toContain("The queue did not accept a delivery: AccessDenied");
  });

  test("accepts at most 700 KiB, which fits into a message of 1 MiB", async () => {
    const body = `{"conv_id":1,"text":"${randomBytes(BODY_LIMIT_BYTES).toString("hex")}`;
    const largest = `${body.slice(0, BODY_LIMIT_BYTES - 2)}"}`;
    expect(Buffer.byteLength(largest)).toBe(BODY_LIMIT_BYTES);
    expect(await request(await signDelivery(largest, KEY))).toMatchObject({ statusCode: 200 });
    expect(await request(await signDelivery(`${largest} `, KEY))).toMatchObject({ statusCode: 413 });
  });

  test("rereads the keys after a wrong signature, at most once a second; on failure, keeps the old ones", async () => {
    await untilKeysMayBeReadAgain(aws);
    const before = aws.parameterReads.length;
    const startedMs = Date.now();
    for (let count = 0; count < 20; count++) {
      expect(await request(await signDelivery(BYTES, "wrong"))).toMatchObject({ statusCode: 401 });
      expect(await request(await signDelivery(BYTES, KEY))).toMatchObject({ statusCode: 200 });
    }
    const reads = aws.parameterReads.length - before;
    expect(reads).toBeGreaterThanOrEqual(1);
    expect(reads).toBeLessThanOrEqual(1 + (Date.now() - startedMs) / 1000);

    await untilKeysMayBeReadAgain(aws);
    aws.parameters.delete(KEYS_PARAMETER);
    expect(await request(await signDelivery(BYTES, "wrong"))).toMatchObject({ statusCode: 401 });
    expect(await request(await signDelivery(BYTES, KEY))).toMatchObject({ statusCode: 200 });

    // New keys take effect without a restart.
    await untilKeysMayBeReadAgain(aws);
    aws.parameters.set(KEYS_PARAMETER, derivation("2026-12", "2026-09"));
    expect(await request(await signDelivery(BYTES, NEXT_KEY))).toMatchObject({ statusCode: 200 });
    expect(await request(handshake(NEXT_KEY))).toMatchObject({ statusCode: 200, body: "c1" });
    expect(await request(await signDelivery(BYTES, KEY))).toMatchObject({ statusCode: 200 });
  });

  test("responds with 500 until it has keys", async () => {
    aws.parameters.delete(KEYS_PARAMETER);
    const fresh = await startReceive(aws);
    const answer = async (): Promise<LambdaHttpResult> =>
      fresh.invoke(functionUrlEvent(await signDelivery(BYTES, KEY)));
    expect(await answer()).toMatchObject({
      statusCode: 500,
      body: expect.stringContaining("keys_unavailable"),
    });
    aws.parameters.set(KEYS_PARAMETER, derivation("2026-09"));
    expect(await answer()).toMatchObject({ statusCode: 200 });
  });
});

test("The bundles do not contain the AWS SDK, and load only that SDK and modules of Node.js", () => {
  for (const name of ["receive", "forward"] as const) {
    const text = bundleFunction(name);
    const outside = [...text.matchAll(/require\("([^"]+)"\)/g)].map(([, found]) => found ?? "");
    const foreign = outside.filter((found) => !found.startsWith("node:"));
    expect(foreign.filter((found) => !found.startsWith("@aws-sdk/client-"))).toEqual([]);
    expect(foreign).toContain("@aws-sdk/client-sqs");
    expect(bundleFunction(name)).toBe(text);
    expect(text.length).toBeLessThan(60_000);
  }
});
