import * as cloudflare from "@pulumi/cloudflare";
import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook, VerificationKey } from "pulumi-apichat";
import { bundleWorker } from "./bundle";
import { readSettings, workersDevHostname } from "./settings";

const { accountId, hostname, keySeed, rotations, replayDeadLetters, ...settings } = readSettings();
const scriptName = `apichat-${pulumi.getStack()}`;

const deliveries = new cloudflare.Queue("deliveries", { accountId, queueName: `${scriptName}-deliveries` });
const deadLetters = new cloudflare.Queue("dead-letters", {
  accountId,
  queueName: `${scriptName}-dead-letters`,
  // 14 days, the maximum.
  settings: { messageRetentionPeriod: 14 * 24 * 60 * 60 },
});

const workspaces = Object.entries(settings.workspaces).map(([name, { baseUrl, forwardTo }]) => ({
  name,
  baseUrl,
  forwardTo,
  key: new VerificationKey(name, { derivedFrom: keySeed, rotations }),
}));

const worker = new cloudflare.WorkersScript("responder", {
  accountId,
  scriptName,
  content: bundleWorker(),
  mainModule: "worker.js",
  compatibilityDate: "2026-10-01",
  bindings: [
    { type: "queue", name: "DELIVERIES", queueName: deliveries.queueName },
    { type: "queue", name: "DEAD_LETTERS", queueName: deadLetters.queueName },
    { type: "plain_text", name: "DEAD_LETTER_QUEUE", text: deadLetters.queueName },
    // The Worker derives the keys of every workspace from these two bindings.
    { type: "secret_text", name: "KEY_SEED", text: keySeed },
    { type: "plain_text", name: "ROTATIONS", text: JSON.stringify(rotations) },
    // One binding for each workspace, because a binding holds at most 5 KB. Secret, because a URL may contain a token.
    ...workspaces.map(({ name, forwardTo }) => ({
      type: "secret_text",
      name: `WORKSPACE_${name}`,
      text: JSON.stringify({ forwardTo }),
    })),
  ],
  // Invocation logs contain URLs, and the URL of a handshake may contain the key in its query.
  observability: { enabled: true, logs: { enabled: true, invocationLogs: false } },
});

const forwarder = consume("forwarder", deliveries, {
  deadLetterQueue: deadLetters.queueName,
  // Batches of 5: a Worker can have six connections at once. With worker/forward.ts's delays, 35 retries take a day.
  settings: { batchSize: 5, maxRetries: 35, maxWaitTimeMs: 0 },
});
if (replayDeadLetters) {
  consume("replay", deadLetters, { settings: { batchSize: 5, maxRetries: 100, retryDelay: 60 } });
}

const address =
  hostname === undefined
    ? new cloudflare.WorkersScriptSubdomain("address", {
        accountId,
        scriptName: worker.scriptName,
        enabled: true,
        previewsEnabled: false,
      })
    : new cloudflare.WorkersCustomDomain("address", { accountId, hostname, service: worker.scriptName });

const origin = `https://${hostname ?? workersDevHostname(scriptName)}`;

const webhooks = workspaces.map(({ name, baseUrl, key }) => {
  const webhookUrl = `${origin}/${name}`;
  const webhook = new ApiChatWebhook(
    name,
    {
      baseUrl,
      webhookUrl,
      webhookVerificationKey: key.current,
      // It takes minutes to issue the certificate of a new host name.
      timeouts: { readySeconds: 300 },
    },
    // The Worker must know a new key before the service does, and must already be able to forward deliveries.
    { dependsOn: [worker, forwarder, address] },
  );
  return { name, webhookUrl, webhook };
});

export const webhook_url = Object.fromEntries(webhooks.map(({ name, webhookUrl }) => [name, webhookUrl]));
export const bot_url = Object.fromEntries(webhooks.map(({ name, webhook }) => [name, webhook.botUrl]));
export const status = Object.fromEntries(webhooks.map(({ name, webhook }) => [name, webhook.status]));

/** Connects the Worker to a queue as its consumer. */
function consume(
  name: string,
  { queueId }: cloudflare.Queue,
  args: Pick<cloudflare.QueueConsumerArgs, "deadLetterQueue" | "settings">,
): cloudflare.QueueConsumer {
  return new cloudflare.QueueConsumer(name, {
    accountId,
    queueId,
    type: "worker",
    scriptName: worker.scriptName,
    ...args,
  });
}
