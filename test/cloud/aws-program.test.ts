import * as pulumi from "@pulumi/pulumi";
import { beforeAll, describe, expect, test } from "vitest";
import { runMocked, type Declared } from "../support/mocked-program.ts";
import { bundleFunction } from "./aws-functions.ts";

const CONFIG = { rotation: "2026-12", forwardTo: "https://chat.example/inbox" };
const KEYS = ["the new key", "the key before"];

const TYPES = {
  function: "aws:lambda/function:Function",
  functionUrl: "aws:lambda/functionUrl:FunctionUrl",
  key: "pulumi-nodejs:dynamic/apichat:VerificationKey",
  logGroup: "aws:cloudwatch/logGroup:LogGroup",
  mapping: "aws:lambda/eventSourceMapping:EventSourceMapping",
  parameter: "aws:ssm/parameter:Parameter",
  permission: "aws:lambda/permission:Permission",
  policy: "aws:iam/rolePolicy:RolePolicy",
  queue: "aws:sqs/queue:Queue",
  role: "aws:iam/role:Role",
  webhook: "pulumi-nodejs:dynamic/apichat:ApiChatWebhook",
};

let resources: Declared[];
let outputs: unknown;

beforeAll(async () => {
  const program = await runMocked(
    () =>
      // Not a static import: the example is CommonJS and has a tsconfig of its own.
      import(/* @vite-ignore */ new URL("../../examples/aws/index.ts", import.meta.url).href) as Promise<
        Record<string, unknown>
      >,
    {
      project: "apichat-aws",
      stack: "dev",
      config: CONFIG,
      computed: ({ type, name }) => compute(type, name),
    },
  );
  ({ resources, outputs } = program);
});

/** What AWS and the provider would give back. */
function compute(type: string, name: string): Record<string, unknown> {
  const computed = { arn: `arn of ${name} (${type})`, name: `${name}-0a1b2c3` };
  if (type === TYPES.queue) return { ...computed, url: `https://sqs.example/${name}` };
  if (type === TYPES.functionUrl) return { functionUrl: "https://urlid.lambda-url.us-east-2.on.aws/" };
  if (type === TYPES.key) return { current: pulumi.secret(KEYS[0]), keys: pulumi.secret(KEYS) };
  if (type === TYPES.webhook) return { botUrl: "https://bots.example/b", status: "verified" };
  return computed;
}

const arnOf = (type: keyof typeof TYPES, name: string): string => `arn of ${name} (${TYPES[type]})`;
const idOf = (type: keyof typeof TYPES, name: string): string => `${TYPES[type]}::${name}`;

function find(type: keyof typeof TYPES, name: string): Declared {
  const found = resources.filter((one) => one.type === TYPES[type] && one.name === name);
  expect(found).toHaveLength(1);
  return found[0] as Declared;
}

interface Statement {
  Effect: string;
  Action: string[];
  Resource: string;
}

const statementsOf = (name: string): Statement[] =>
  JSON.parse(String(find("policy", name).inputs["policy"])).Statement;

/** Everything that must be there before a resource, by whatever way. */
function allDependencies({ dependencies }: Declared, seen = new Set<string>()): Set<string> {
  for (const id of dependencies.filter((one) => !seen.has(one))) {
    seen.add(id);
    const resource = resources.find(({ type, name }) => `${type}::${name}` === id);
    if (resource) allDependencies(resource, seen);
  }
  return seen;
}

describe("The queues", () => {
  test("are first in, first out, encrypted, and take messages of 1 MiB", () => {
    for (const name of ["deliveries", "dead-letters"]) {
      expect(find("queue", name).inputs).toMatchObject({
        fifoQueue: true,
        maxMessageSize: 1_048_576,
        sqsManagedSseEnabled: true,
      });
    }
  });

  test("deduplicate by id and not by content: two equal replies are two deliveries", () => {
    expect(find("queue", "deliveries").inputs).not.toHaveProperty("contentBasedDeduplication");
  });

  test("count their limits for each conversation", () => {
    expect(find("queue", "deliveries").inputs).toMatchObject({
      deduplicationScope: "messageGroup",
      fifoThroughputLimit: "perMessageGroupId",
    });
  });

  test("what is not taken in 300 attempts becomes a dead letter, which is kept longer than it was tried", () => {
    const { inputs } = find("queue", "deliveries");
    expect(JSON.parse(String(inputs["redrivePolicy"]))).toEqual({
      deadLetterTargetArn: arnOf("queue", "dead-letters"),
      maxReceiveCount: 300,
    });
    const keptSeconds = Number(find("queue", "dead-letters").inputs["messageRetentionSeconds"]);
    expect(keptSeconds).toBe(14 * 86_400);
    expect(Number(inputs["messageRetentionSeconds"])).toBeLessThan(keptSeconds);
  });

  test("the pauses of 300 attempts are about a day, well within what the queue keeps", () => {
    const pauses = Array.from({ length: 300 }, (_, attempt) => Math.min(300, 2 ** attempt));
    const seconds = pauses.reduce((sum, pause) => sum + pause, 0);
    expect(seconds / 86_400).toBeCloseTo(1, 1);
    expect(seconds).toBeLessThan(Number(find("queue", "deliveries").inputs["messageRetentionSeconds"]));
  });
});

describe("The functions", () => {
  test("run the bundles on Node.js 24, with a log that is dropped after 30 days", async () => {
    for (const name of ["receive", "forward"] as const) {
      const { inputs, dependencies } = find("function", name);
      expect(inputs).toMatchObject({
        runtime: "nodejs24.x",
        handler: "index.handler",
        role: arnOf("role", name),
        loggingConfig: { logFormat: "JSON", logGroup: `${name}-0a1b2c3` },
      });
      expect(JSON.stringify(inputs["code"])).toContain(JSON.stringify(bundleFunction(name)).slice(1, -1));
      expect(find("logGroup", name).inputs).toMatchObject({ retentionInDays: 30 });
      expect(dependencies).toContain(idOf("policy", name));
    }
  });

  test("may do what they do, each on one resource, and nothing else", () => {
    const writeLog = (name: string): Statement => ({
      Effect: "Allow",
      Action: ["logs:CreateLogStream", "logs:PutLogEvents"],
      Resource: `${arnOf("logGroup", name)}:*`,
    });
    expect(statementsOf("receive")).toEqual([
      writeLog("receive"),
      { Effect: "Allow", Action: ["ssm:GetParameter"], Resource: arnOf("parameter", "verification-keys") },
      { Effect: "Allow", Action: ["sqs:SendMessage"], Resource: arnOf("queue", "deliveries") },
    ]);
    expect(statementsOf("forward")).toEqual([
      writeLog("forward"),
      {
        Effect: "Allow",
        Action: [
          "sqs:ReceiveMessage",
          "sqs:DeleteMessage",
          "sqs:GetQueueAttributes",
          "sqs:ChangeMessageVisibility",
        ],
        Resource: arnOf("queue", "deliveries"),
      },
      { Effect: "Allow", Action: ["sqs:SendMessage"], Resource: arnOf("queue", "dead-letters") },
    ]);
    for (const name of ["receive", "forward"]) {
      const trust = JSON.parse(String(find("role", name).inputs["assumeRolePolicy"]));
      expect(trust.Statement).toEqual([
        { Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: "lambda.amazonaws.com" } },
      ]);
    }
  });

  test("get in their environments what the handlers ask for, and no key", () => {
    expect(find("function", "receive").inputs["environment"]).toEqual({
      variables: { QUEUE_URL: "https://sqs.example/deliveries", KEYS_PARAMETER: "verification-keys-0a1b2c3" },
    });
    expect(find("function", "forward").inputs["environment"]).toEqual({
      variables: {
        FORWARD_TO: CONFIG.forwardTo,
        QUEUE_URL: "https://sqs.example/deliveries",
        DEAD_LETTER_QUEUE_URL: "https://sqs.example/dead-letters",
      },
    });
  });
});

describe("The consumer", () => {
  test("is given one delivery at a time, and reports which have failed", () => {
    expect(find("mapping", "forward").inputs).toMatchObject({
      eventSourceArn: arnOf("queue", "deliveries"),
      functionName: arnOf("function", "forward"),
      functionResponseTypes: ["ReportBatchItemFailures"],
      batchSize: 1,
      scalingConfig: { maximumConcurrency: 32 },
    });
  });

  test("has less time than a delivery is hidden for", () => {
    const hiddenSeconds = Number(find("queue", "deliveries").inputs["visibilityTimeoutSeconds"]);
    expect(hiddenSeconds).toBe(6 * Number(find("function", "forward").inputs["timeout"]));
  });
});

describe("The keys", () => {
  test("rotate with the configuration", () => {
    expect(find("key", "apichat").inputs).toMatchObject({ rotation: "2026-12" });
  });

  test("stand in an encrypted parameter, the earlier ones too", () => {
    expect(find("parameter", "verification-keys").inputs).toMatchObject({
      type: "SecureString",
      value: { secret: JSON.stringify(KEYS) },
    });
  });

  test("stand nowhere in clear", () => {
    const clear = JSON.stringify(resources, (name, value: unknown) => (name === "secret" ? "" : value));
    expect(clear).not.toMatch(/the new key|the key before/);
    expect(JSON.stringify(outputs)).not.toMatch(/the new key|the key before/);
  });
});

describe("The webhook", () => {
  test("has the function URL, which is public by both permissions that AWS asks for", () => {
    expect(find("functionUrl", "receive").inputs).toMatchObject({
      functionName: "receive-0a1b2c3",
      authorizationType: "NONE",
    });
    const permission = { function: "receive-0a1b2c3", principal: "*" };
    expect(find("permission", "receive-url").inputs).toMatchObject({
      ...permission,
      action: "lambda:InvokeFunctionUrl",
      functionUrlAuthType: "NONE",
    });
    expect(find("permission", "receive-through-url").inputs).toMatchObject({
      ...permission,
      action: "lambda:InvokeFunction",
      invokedViaFunctionUrl: true,
    });
  });

  test("is registered when all that answers it is there: URL, permissions, keys and consumer", () => {
    const webhook = find("webhook", "apichat");
    expect(webhook.inputs).toMatchObject({
      webhookUrl: "https://urlid.lambda-url.us-east-2.on.aws/",
      webhookVerificationKey: { secret: KEYS[0] },
    });
    expect([...allDependencies(webhook)]).toEqual(
      expect.arrayContaining([
        idOf("functionUrl", "receive"),
        idOf("permission", "receive-url"),
        idOf("permission", "receive-through-url"),
        idOf("function", "receive"),
        idOf("policy", "receive"),
        idOf("parameter", "verification-keys"),
        idOf("mapping", "forward"),
        idOf("policy", "forward"),
      ]),
    );
  });

  test("gives its bot URL to the outputs, beside what finds the dead letters", () => {
    expect(outputs).toEqual({
      bot_url: "https://bots.example/b",
      status: "verified",
      webhook_url: "https://urlid.lambda-url.us-east-2.on.aws/",
      queue_arn: arnOf("queue", "deliveries"),
      dead_letter_queue_arn: arnOf("queue", "dead-letters"),
      dead_letter_queue_url: "https://sqs.example/dead-letters",
    });
  });
});
