import type { SQSEvent, SQSRecord } from "aws-lambda";
import { signBody } from "pulumi-apichat/responder";
import type { SentRequest } from "../support/lambda-events.ts";
import type { AwsEndpoint, SentMessage } from "./aws-endpoint.ts";
import { startFunction, type LambdaFunction } from "./aws-lambda-harness.ts";
import type { RuntimeClient } from "./aws-runtime-client.ts";

export const KEYS_PARAMETER = "verification-keys-0a1b2c3";

/** A message in JSON that decoding and encoding as UTF-8 would change, with what PHP writes. */
export const BYTES = Buffer.concat([
  Buffer.from('{"conv_id":7,"text":"\\u00e9\\/ é","junk":"'),
  Buffer.from([255, 254]),
  Buffer.from('"}'),
]);

// Not a static import: the example is CommonJS and has a tsconfig of its own.
const bundler = (await import(
  /* @vite-ignore */ new URL("../../examples/aws/bundle.ts", import.meta.url).href
)) as { bundle: (path: string) => string };

/** The text of a function's bundle, as the example's program deploys it. */
export const bundleFunction = (name: "receive" | "forward"): string => bundler.bundle(`lambda/${name}.ts`);

/** The example's receiving function, with the environment that its program gives it. */
export function startReceive(client: RuntimeClient, aws: AwsEndpoint): Promise<LambdaFunction> {
  return startFunction({
    client,
    code: bundleFunction("receive"),
    environment: { ...aws.environment, QUEUE_URL: aws.queueUrl("deliveries"), KEYS_PARAMETER },
  });
}

/** The example's forwarding function, with the environment that its program gives it. */
export function startForward(
  client: RuntimeClient,
  aws: AwsEndpoint,
  target: string,
): Promise<LambdaFunction> {
  return startFunction({
    client,
    code: bundleFunction("forward"),
    environment: {
      ...aws.environment,
      FORWARD_TO: target,
      QUEUE_URL: aws.queueUrl("deliveries"),
      DEAD_LETTER_QUEUE_URL: aws.queueUrl("dead-letters"),
    },
  });
}

/** A delivery as the service sends it. */
export async function signDelivery(body: string | Uint8Array, key: string): Promise<SentRequest> {
  const headers = [
    ["X-Hub-Signature-256", await signBody(key, body)],
    ["Content-Type", "application/json"],
    ["x-flow-ns", "f1"],
    ["x-action", "messages"],
  ] as const;
  return { body, headers };
}

/** Messages of a queue, as Lambda hands them to the function that consumes it: the event of AWS's documentation. */
export function toSqsEvent(messages: readonly SentMessage[], receiveCount = 1): SQSEvent {
  return { Records: messages.map((message, index) => toRecord(message, { index, receiveCount })) };
}

function toRecord(message: SentMessage, received: { index: number; receiveCount: number }): SQSRecord {
  return {
    messageId: `059f36b4-87a3-44ab-83d2-66197595${received.index}`,
    receiptHandle: `receipt-${received.index}`,
    body: message.MessageBody,
    attributes: {
      ApproximateReceiveCount: String(received.receiveCount),
      SentTimestamp: "1573251510774",
      SequenceNumber: "18849496460467696128",
      MessageGroupId: message.MessageGroupId,
      SenderId: "AIDAIO23YVJENQZJOL4VO",
      MessageDeduplicationId: message.MessageDeduplicationId,
      ApproximateFirstReceiveTimestamp: "1573251510774",
    },
    messageAttributes: {},
    md5OfBody: "e4e68fb7bd0e697a0ae8f1bb342846b3",
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:us-east-2:123456789012:deliveries.fifo",
    awsRegion: "us-east-2",
  };
}
