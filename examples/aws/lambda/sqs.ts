import { ChangeMessageVisibilityCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";

/** A message for a FIFO queue. */
export interface QueueMessage {
  body: string;
  /** The messages of one group stay in order. */
  group: string;
  /** Within five minutes, the queue accepts only one message with the same id, so a repeated call changes nothing. */
  deduplicationId: string;
}

/** The calls that the functions make to a queue; Lambda itself receives and deletes messages. */
export interface Queue {
  send(message: QueueMessage): Promise<void>;
  /** Hides a received message, and thereby its group, for this many seconds. */
  delay(receiptHandle: string, seconds: number): Promise<void>;
}

/** Short, so that a call can be retried while the sender still waits for the response. */
const timeLimits = { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true };

const client = new SQSClient({ maxAttempts: 3, requestHandler: timeLimits });

/** The SDK is part of Lambda's Node.js runtime, so it is not in the bundle. */
export function openQueue(url: string): Queue {
  return {
    send: async ({ body, group, deduplicationId }) => {
      await client.send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody: body,
          MessageGroupId: group,
          MessageDeduplicationId: deduplicationId,
        }),
      );
    },
    delay: async (receiptHandle, seconds) => {
      await client.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: url,
          ReceiptHandle: receiptHandle,
          VisibilityTimeout: seconds,
        }),
      );
    },
  };
}
