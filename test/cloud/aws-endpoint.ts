import { createHash } from "node:crypto";
import { startServer } from "../support/http.ts";

/** A message that SendMessage put into a queue. */
export interface SentMessage {
  QueueUrl: string;
  MessageBody: string;
  MessageGroupId: string;
  MessageDeduplicationId: string;
}

export type AwsEndpoint = Awaited<ReturnType<typeof startAwsEndpoint>>;

type CallAnswer = [status: number, body: object];

const MESSAGE_LIMIT_BYTES = 1024 * 1024;

const refuse = (type: string, status = 400): CallAnswer => [status, { __type: type, message: type }];

/**
 * Implements the operations of SQS and the Parameter Store that the functions call through the real SDK. Requests
 * and responses are JSON; the header `x-amz-target` names the operation.
 */
export async function startAwsEndpoint() {
  const { url } = await startServer(({ headers, body: input }, response) => {
    const [status, body] = perform(String(headers["x-amz-target"]), JSON.parse(input));
    response.writeHead(status, { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(body));
  });
  const endpoint = {
    /** The variables that direct the SDK to this server. */
    environment: { AWS_ENDPOINT_URL_SQS: url, AWS_ENDPOINT_URL_SSM: url },
    queueUrl: (name: string) => `${url}/123456789012/${name}.fifo`,
    /** The accepted messages, except duplicates, which SQS drops. */
    messages: [] as SentMessage[],
    /** The requests to ChangeMessageVisibility. */
    visibilityChanges: [] as { QueueUrl: string; ReceiptHandle: string; VisibilityTimeout: number }[],
    /** The values in the Parameter Store, keyed by name. Tests change them. */
    parameters: new Map<string, string>(),
    /** The times of the GetParameter requests, in ms. */
    parameterReads: [] as number[],
    /** The error of every call to SQS; undefined for normal responses. */
    failWith: undefined as { status: number; type: string } | undefined,
    /** Clears `messages` and `visibilityChanges`, and responds normally again. */
    reset: () => {
      endpoint.messages.length = 0;
      endpoint.visibilityChanges.length = 0;
      endpoint.failWith = undefined;
    },
  };
  const calls: Partial<Record<string, (input: never) => CallAnswer>> = {
    "AmazonSQS.SendMessage": (input: SentMessage) => {
      const { QueueUrl, MessageBody, MessageDeduplicationId } = input;
      if (Buffer.byteLength(MessageBody) > MESSAGE_LIMIT_BYTES) return refuse("InvalidMessageContents");
      const isDuplicate = endpoint.messages.some(
        (one) => one.QueueUrl === QueueUrl && one.MessageDeduplicationId === MessageDeduplicationId,
      );
      if (!isDuplicate) endpoint.messages.push(input);
      const MD5OfMessageBody = createHash("md5").update(MessageBody).digest("hex");
      return [200, { MessageId: `message-${endpoint.messages.length}`, MD5OfMessageBody }];
    },
    "AmazonSQS.ChangeMessageVisibility": (input: (typeof endpoint.visibilityChanges)[number]) => {
      endpoint.visibilityChanges.push(input);
      return [200, {}];
    },
    "AmazonSSM.GetParameter": ({ Name, WithDecryption }: { Name: string; WithDecryption?: boolean }) => {
      endpoint.parameterReads.push(Date.now());
      const value = endpoint.parameters.get(Name);
      if (value === undefined) return refuse("ParameterNotFound");
      const shown = WithDecryption === true ? value : "AQECAHg-encrypted";
      return [200, { Parameter: { Name, Type: "SecureString", Value: shown, Version: 1 } }];
    },
  };
  const perform = (target: string, input: unknown): CallAnswer => {
    const { failWith } = endpoint;
    if (failWith && target.startsWith("AmazonSQS")) return refuse(failWith.type, failWith.status);
    return calls[target]?.(input as never) ?? refuse("UnknownOperationException");
  };
  return endpoint;
}
