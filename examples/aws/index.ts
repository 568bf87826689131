import * as lambda from "@pulumi/aws/lambda/index.js";
import * as sqs from "@pulumi/aws/sqs/index.js";
import * as ssm from "@pulumi/aws/ssm/index.js";
import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook, VerificationKey } from "pulumi-apichat";
import { createFunction } from "./function";
import { QUEUE_MESSAGE_BYTES } from "./lambda/queued-delivery";

const config = new pulumi.Config();

// Stacks that share the seed have different keys, because the subject differs. The first rotation is the current one.
const derivation = { subject: pulumi.getStack(), rotations: config.requireObject<string[]>("rotations") };
const keySeed = config.requireSecret("keySeed");
const key = new VerificationKey("apichat", { derivedFrom: keySeed, ...derivation });

// The function derives the same keys. The seed is not in its environment, because anyone who can view the
// function can read that.
const keys = new ssm.Parameter("verification-keys", {
  type: "SecureString",
  value: pulumi.jsonStringify({ seed: keySeed, ...derivation }),
});

const DAY_SECONDS = 24 * 60 * 60;

// FIFO, so that the deliveries of one conversation stay in order. High throughput, so that SQS's rate limits
// apply per conversation.
const fifo = {
  fifoQueue: true,
  deduplicationScope: "messageGroup",
  fifoThroughputLimit: "perMessageGroupId",
  maxMessageSize: QUEUE_MESSAGE_BYTES,
  sqsManagedSseEnabled: true,
};

const deadLetters = new sqs.Queue("dead-letters", { ...fifo, messageRetentionSeconds: 14 * DAY_SECONDS });

const FORWARD_TIMEOUT_SECONDS = 30;

const deliveries = new sqs.Queue("deliveries", {
  ...fifo,
  messageRetentionSeconds: 4 * DAY_SECONDS,
  // AWS recommends six times the function's timeout.
  visibilityTimeoutSeconds: 6 * FORWARD_TIMEOUT_SECONDS,
  // The pauses between attempts double from 1 s to 5 minutes, so 300 attempts take about a day.
  redrivePolicy: pulumi.jsonStringify({ deadLetterTargetArn: deadLetters.arn, maxReceiveCount: 300 }),
});

const receive = createFunction("receive", {
  handlerPath: "lambda/receive.ts",
  timeoutSeconds: 15,
  environment: { QUEUE_URL: deliveries.url, KEYS_PARAMETER: keys.name },
  permissions: [
    { actions: ["ssm:GetParameter"], resource: keys.arn },
    { actions: ["sqs:SendMessage"], resource: deliveries.arn },
  ],
});

// The service signs its deliveries and does not use IAM, so the URL is public and the responder checks the signature.
const url = new lambda.FunctionUrl("receive", {
  functionName: receive.name,
  authorizationType: "NONE",
});

const isPublic = [
  new lambda.Permission("receive-url", {
    function: receive.name,
    principal: "*",
    action: "lambda:InvokeFunctionUrl",
    functionUrlAuthType: url.authorizationType,
  }),
  new lambda.Permission("receive-through-url", {
    function: receive.name,
    principal: "*",
    action: "lambda:InvokeFunction",
    invokedViaFunctionUrl: true,
  }),
];

const forward = createFunction("forward", {
  handlerPath: "lambda/forward.ts",
  timeoutSeconds: FORWARD_TIMEOUT_SECONDS,
  environment: {
    FORWARD_TO: config.require("forwardTo"),
    QUEUE_URL: deliveries.url,
    DEAD_LETTER_QUEUE_URL: deadLetters.url,
  },
  permissions: [
    {
      actions: [
        "sqs:ReceiveMessage",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:ChangeMessageVisibility",
      ],
      resource: deliveries.arn,
    },
    { actions: ["sqs:SendMessage"], resource: deadLetters.arn },
  ],
});

const consumer = new lambda.EventSourceMapping("forward", {
  eventSourceArn: deliveries.arn,
  functionName: forward.arn,
  functionResponseTypes: ["ReportBatchItemFailures"],
  // Each receipt counts as an attempt: in a larger batch, deliveries behind a failing one would use up their attempts.
  batchSize: 1,
  scalingConfig: { maximumConcurrency: 32 },
});

// The service performs its handshake during the registration, so the URL must already accept the new key.
// Deliveries may follow at once, so forwarding must already work.
const webhook = new ApiChatWebhook(
  "apichat",
  { webhookUrl: url.functionUrl, webhookVerificationKey: key.current },
  { dependsOn: [keys, ...isPublic, consumer] },
);

export const bot_url = webhook.botUrl;
export const status = webhook.status;
export const webhook_url = url.functionUrl;
export const dead_letter_queue_url = deadLetters.url;
export const dead_letter_queue_arn = deadLetters.arn;
export const queue_arn = deliveries.arn;
