import * as pulumi from "@pulumi/pulumi";
import { beforeAll, describe, expect, test } from "vitest";
import { SEED } from "../support/derived-keys.ts";
import { runMocked, type Declared } from "../support/mocked-program.ts";
import { bundleFunction } from "./aws-functions.ts";

const ROTATIONS = ["2026-12", "2026-09"];
const CONFIG = {
  keySeed: SEED,
  rotations: JSON.stringify(ROTATIONS),
  forwardTo: "https://chat.example/inbox",
};
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

/** What a policy, a trust or a redrive policy says. */
const parse = (text: unknown): unknown => JSON.parse(String(text));

const arnOf = (type: keyof typeof TYPES, name: string): string => `arn of ${name} (${TYPES[type]})`;
const idOf = (type: keyof typeof TYPES, name: string): string => `${TYPES[type]}::${name}`;

function find(type: keyof typeof TYPES, name: string): Declared {
  const found = resources.filter((one) => one.type === TYPES[type] && one.name === name);
  expect(found).toHaveLength(1);
  return found[0] as Declared;
}

/** Everything that must be there before a resource, by whatever way. */
function allDependencies({ dependencies }: Declared, seen = new Set<string>()): Set<string> {
  for (const id of dependencies.filter((one) => !seen.has(one))) {
    seen.add(id);
    const resource = resources.find(({ type, name }) => `${type}::${name}` === id);
    if (resource) allDependencies(resource, seen);
  }
  return seen;
}

describe("the queues", () => {
  test("what is not taken in 300 attempts, which are about a day, becomes a dead letter, kept for 14 days", () => {
    const { inputs } = find("queue", "deliveries");
    const deadLetterTargetArn = arnOf("queue", "dead-letters");
    expect(parse(inputs["redrivePolicy"])).toEqual({ deadLetterTargetArn, maxReceiveCount: 300 });
    const keptSeconds = Number(inputs["messageRetentionSeconds"]);
    expect(find("queue", "dead-letters").inputs).toMatchObject({ messageRetentionSeconds: 14 * 86_400 });
    expect(keptSeconds).toBeLessThan(14 * 86_400);
    const pauses = Array.from({ length: 300 }, (_, attempt) => Math.min(300, 2 ** attempt));
    const seconds = pauses.reduce((sum, pause) => sum + pause, 0);
    expect(seconds / 86_400).toBeCloseTo(1, 1);
    expect(seconds).toBeLessThan(keptSeconds);
  });
});

describe("the functions", () => {
  test.each(["receive", "forward"] as const)(
    "%s runs its bundle, may do what it must and nothing with all resources, and knows no key",
    (name) => {
      const { inputs, dependencies } = find("function", name);
      expect(inputs).toMatchObject({ handler: "index.handler", role: arnOf("role", name) });
      expect(JSON.stringify(inputs["code"])).toContain(JSON.stringify(bundleFunction(name)).slice(1, -1));
      expect(JSON.stringify(inputs["environment"])).not.toContain("secret");
      expect(dependencies).toContain(idOf("policy", name));
      const { Statement: statements } = parse(find("policy", name).inputs["policy"]) as {
        Statement: { Action: string[]; Resource: string }[];
      };
      expect(statements.length).toBeGreaterThan(1);
      for (const { Action, Resource } of statements)
        expect([...Action, Resource]).not.toContainEqual(expect.stringMatching(/^[a-z:]*\*$/));
    },
  );
});

test("the keys rotate with the configuration, are in an encrypted parameter, and nowhere in clear", () => {
  expect(find("key", "apichat").inputs).toMatchObject({
    derivedFrom: { secret: SEED },
    subject: "dev",
    rotations: ROTATIONS,
  });
  expect(find("parameter", "verification-keys").inputs).toMatchObject({
    type: "SecureString",
    value: { secret: JSON.stringify({ seed: SEED, subject: "dev", rotations: ROTATIONS }) },
  });
  const clear = JSON.stringify([resources, outputs], (name, value: unknown) =>
    name === "secret" ? "" : value,
  );
  expect(clear).not.toMatch(/the new key|the key before/);
  expect(clear).not.toContain(SEED);
});

describe("the webhook", () => {
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
});
