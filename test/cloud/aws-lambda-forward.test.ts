import type { SQSBatchResponse } from "aws-lambda";
import { signBody } from "pulumi-apichat/responder";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startServer, type TestServer } from "../support/http.ts";
import { functionUrlEvent } from "../support/lambda-events.ts";
import { startAwsEndpoint, type AwsEndpoint, type SentMessage } from "./aws-endpoint.ts";
import {
  type LambdaFunction,
  BYTES,
  derivation,
  KEYS_PARAMETER,
  keyOf,
  signDelivery,
  startForward,
  startReceive,
  toSqsEvent,
} from "./aws-functions.ts";
const KEY = await keyOf("2026-09");
const ID = "x-apichat-delivery-id";

let aws: AwsEndpoint;
let target: TestServer;

beforeAll(async () => {
  aws = await startAwsEndpoint();
  target = await startServer();
});

beforeEach(() => {
  aws.reset();
  target.requests.length = 0;
  answerWith(() => 200);
});

/** Sets the status of the target's response to each delivery, by the delivery's id. */
const answerWith = (statusOf: (id: unknown) => number, headers: Record<string, string> = {}): void =>
  target.answerWith((request, response) =>
    response.writeHead(statusOf(request.headers[ID]), headers).end("answered"),
  );

/** The ids of the deliveries that reached the target. */
const idsAtTarget = (): string[] => target.requests.map(({ headers }) => String(headers[ID]));

/** A message as the receiving function would put it into the queue. */
const message = (id: string, group: string): SentMessage => ({
  QueueUrl: "that of the deliveries",
  MessageBody: JSON.stringify({ id, headers: [], body: Buffer.from("{}").toString("base64") }),
  MessageGroupId: group,
  MessageDeduplicationId: id,
});

const failedIndexes = ({ batchItemFailures }: SQSBatchResponse): number[] =>
  batchItemFailures.map(({ itemIdentifier }) => Number(itemIdentifier.at(-1)));

describe("the forwarding function", () => {
  let forward: LambdaFunction;

  beforeAll(async () => {
    forward = await startForward(aws, target.url);
  });

  const consume = (messages: readonly SentMessage[], receiveCount = 1): Promise<SQSBatchResponse> =>
    forward.invoke(toSqsEvent(messages, receiveCount));

  test("keeps the order of a conversation without delaying others", async () => {
    answerWith((id) => (id === "a2" ? 500 : 200));
    const batch = ["a1", "b1", "a2", "a3", "b2"].map((id) => message(id, id.charAt(0)));
    expect(failedIndexes(await consume(batch))).toEqual([2, 3]);
    expect(idsAtTarget().toSorted()).toEqual(["a1", "a2", "b1", "b2"]);
    const postponed = aws.visibilityChanges.map(({ ReceiptHandle }) => ReceiptHandle);
    expect(postponed.toSorted()).toEqual(["receipt-2", "receipt-3"]);
  });

  test.each<[receiveCount: number, headers: Record<string, string>, seconds: number]>([
    [1, {}, 1],
    [9, {}, 256],
    [10, {}, 300],
    [1, { "retry-after": "120" }, 120],
    [1, { "retry-after": "1000000" }, 3_600],
  ])("after attempt %i with response headers %j, waits %i s", async (receiveCount, headers, seconds) => {
    answerWith(() => 503, headers);
    expect(failedIndexes(await consume([message("d1", "7")], receiveCount))).toEqual([0]);
    expect(aws.visibilityChanges).toEqual([
      { QueueUrl: aws.queueUrl("deliveries"), ReceiptHandle: "receipt-0", VisibilityTimeout: seconds },
    ]);
  });

  // unit/server/forward-request.test.ts tests every status.
  test("retries after a redirect, without following it", async () => {
    answerWith(() => 307, { location: `${target.url}/elsewhere` });
    expect(failedIndexes(await consume([message("d1", "7")]))).toEqual([0]);
    expect(target.requests).toHaveLength(1);
  });

  test("makes a rejected delivery a dead letter at once, and continues with the next one", async () => {
    answerWith((id) => (id === "d1" ? 422 : 200));
    const refused = message("d1", "7");
    expect(await consume([refused, message("d2", "7")])).toEqual({ batchItemFailures: [] });
    expect(aws.messages).toEqual([{ ...refused, QueueUrl: aws.queueUrl("dead-letters") }]);
    expect(idsAtTarget()).toEqual(["d1", "d2"]);
  });

  test("if a rejected delivery cannot become a dead letter, asks to receive only that delivery again", async () => {
    answerWith((id) => (id === "d1" ? 400 : 200));
    aws.failWith = { status: 400, type: "AccessDeniedException" };
    expect(failedIndexes(await consume([message("d1", "7"), message("d2", "8")]))).toEqual([0]);
  });
});

test("The forwarding function posts what the receiving function queues, unchanged and with its id", async () => {
  aws.parameters.set(KEYS_PARAMETER, derivation("2026-09"));
  const receive = await startReceive(aws);
  const forward = await startForward(aws, `${target.url}/inbox?from=sqs`);
  await receive.invoke(functionUrlEvent(await signDelivery(BYTES, KEY)));
  expect(await forward.invoke(toSqsEvent(aws.messages))).toEqual({ batchItemFailures: [] });
  const [got] = target.requests;
  expect(got).toMatchObject({ method: "POST", path: "/inbox?from=sqs" });
  expect(got?.bytes).toEqual(BYTES);
  expect(got?.headers).toMatchObject({
    "content-type": "application/json",
    "content-length": String(BYTES.length),
    "x-hub-signature-256": await signBody(KEY, BYTES),
    "x-flow-ns": "f1",
    "x-action": "messages",
    "x-apichat-delivery-id": aws.messages[0]?.MessageDeduplicationId,
    host: new URL(target.url).host,
  });
});
