import { createHash } from "node:crypto";
import { startServer } from "../support/http.ts";

/** What a queue was given by SendMessage. */
export interface SentMessage {
  QueueUrl: string;
  MessageBody: string;
  MessageGroupId: string;
  MessageDeduplicationId: string;
}

/** What ChangeMessageVisibility was asked for. */
interface VisibilityChange {
  QueueUrl: string;
  ReceiptHandle: string;
  VisibilityTimeout: number;
}

/** SQS and the Parameter Store, as far as the functions use them, for the real SDK. */
export interface AwsEndpoint {
  /** What points the SDK here. */
  environment: Record<string, string>;
  queueUrl(name: string): string;
  /** Those that were taken, without those that SQS itself drops as duplicates. */
  messages: SentMessage[];
  visibilityChanges: VisibilityChange[];
  /** Parameters by name; a test changes them. */
  parameters: Map<string, string>;
  /** When each GetParameter came, in ms. */
  parameterReads: number[];
  /** What every call to SQS is answered with; undefined: as it should be. */
  failWith: { status: number; type: string } | undefined;
  /** Forgets messages and changes, and answers as it should again. */
  reset(): void;
}

const SERVICES = ["SQS", "SSM"];
const MESSAGE_LIMIT_BYTES = 1024 * 1024;

/** Speaks the JSON protocol of both services: the operation in `x-amz-target`, the input and the output as JSON. */
export async function startAwsEndpoint(): Promise<AwsEndpoint> {
  const { url } = await startServer(({ headers, body: input }, response) => {
    const target = String(headers["x-amz-target"]);
    const { status, body } = performCall(endpoint, target, JSON.parse(input));
    response.writeHead(status, { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(body));
  });
  const endpoint: AwsEndpoint = {
    environment: Object.fromEntries(SERVICES.map((service) => [`AWS_ENDPOINT_URL_${service}`, url])),
    queueUrl: (name) => `${url}/123456789012/${name}.fifo`,
    messages: [],
    visibilityChanges: [],
    parameters: new Map(),
    parameterReads: [],
    failWith: undefined,
    reset: () => {
      endpoint.messages.length = 0;
      endpoint.visibilityChanges.length = 0;
      endpoint.failWith = undefined;
    },
  };
  return endpoint;
}

interface CallAnswer {
  status: number;
  body: object;
}

function performCall(endpoint: AwsEndpoint, target: string, input: unknown): CallAnswer {
  const { messages, visibilityChanges, failWith } = endpoint;
  if (target === "AmazonSSM.GetParameter") return readParameter(endpoint, input as ParameterRequest);
  if (failWith) return refuse(failWith.type, failWith.status);
  if (target === "AmazonSQS.SendMessage") return takeMessage(messages, input as SentMessage);
  if (target !== "AmazonSQS.ChangeMessageVisibility") return refuse("UnknownOperationException");
  visibilityChanges.push(input as VisibilityChange);
  return { status: 200, body: {} };
}

interface ParameterRequest {
  Name: string;
  WithDecryption?: boolean;
}

function readParameter(endpoint: AwsEndpoint, { Name, WithDecryption }: ParameterRequest): CallAnswer {
  endpoint.parameterReads.push(Date.now());
  const Value = endpoint.parameters.get(Name);
  if (Value === undefined) return refuse("ParameterNotFound");
  const shown = WithDecryption === true ? Value : "AQECAHg-encrypted";
  return { status: 200, body: { Parameter: { Name, Type: "SecureString", Value: shown, Version: 1 } } };
}

function takeMessage(messages: SentMessage[], input: SentMessage): CallAnswer {
  const { QueueUrl, MessageBody, MessageDeduplicationId } = input;
  if (Buffer.byteLength(MessageBody) > MESSAGE_LIMIT_BYTES) return refuse("InvalidMessageContents");
  const isDuplicate = messages.some(
    (one) => one.QueueUrl === QueueUrl && one.MessageDeduplicationId === MessageDeduplicationId,
  );
  if (!isDuplicate) messages.push(input);
  const MD5OfMessageBody = createHash("md5").update(MessageBody).digest("hex");
  return { status: 200, body: { MessageId: `message-${messages.length}`, MD5OfMessageBody } };
}

const refuse = (type: string, status = 400): CallAnswer => ({
  status,
  body: { __type: type, message: type },
});
