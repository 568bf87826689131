import { beforeAll, describe, expect, test } from "vitest";
import { SEED } from "../support/derived-keys.ts";
import { bundleFunction } from "./aws-functions.ts";
import { FUNCTION_URL, KEY, ROTATIONS, runExample, WEBHOOK, type Program } from "./mocked-example.ts";

const DAY_SECONDS = 86_400;

/** Everything that a resource depends on, directly or indirectly, as `<type>::<name>`. */
function allDependencies({ find }: Program, { dependencies }: { dependencies: string[] }): string[] {
  const seen = new Set(dependencies);
  // This loop also visits the dependencies that it adds to the set.
  for (const id of seen) {
    const [type = "", name = ""] = id.split("::");
    for (const one of find(type, name).dependencies) seen.add(one);
  }
  return [...seen];
}

function expectNoKeyOutsideOfSecrets({ resources, outputs }: Program): void {
  const shown = JSON.stringify([resources, outputs], (name, value: unknown) =>
    name === "secret" ? "" : value,
  );
  expect(shown).not.toMatch(/-(new|old)"/);
  expect(shown).not.toContain(SEED);
}

/** Parses an IAM policy or a queue's redrive policy. */
const parse = (text: unknown): unknown => JSON.parse(String(text));

const FUNCTION = "aws:lambda/function:Function";
const PARAMETER = "aws:ssm/parameter:Parameter";
const POLICY = "aws:iam/rolePolicy:RolePolicy";
const QUEUE = "aws:sqs/queue:Queue";

describe("the program of examples/aws", () => {
  let program: Program;

  beforeAll(async () => {
    program = await runExample("aws", { forwardTo: "https://chat.example/inbox" });
  });

  test("after 300 attempts in about a day, a delivery becomes a dead letter, which is kept for 14 days", () => {
    const { inputs } = program.find(QUEUE, "deliveries");
    const deadLetterTargetArn = `arn of dead-letters (${QUEUE})`;
    expect(parse(inputs["redrivePolicy"])).toEqual({ deadLetterTargetArn, maxReceiveCount: 300 });
    const keptSeconds = Number(inputs["messageRetentionSeconds"]);
    const deadLetters = program.find(QUEUE, "dead-letters");
    expect(deadLetters.inputs).toMatchObject({ messageRetentionSeconds: 14 * DAY_SECONDS });
    expect(keptSeconds).toBeLessThan(14 * DAY_SECONDS);
    const pauses = Array.from({ length: 300 }, (_, attempt) => Math.min(300, 2 ** attempt));
    const seconds = pauses.reduce((sum, pause) => sum + pause, 0);
    expect(seconds / DAY_SECONDS).toBeCloseTo(1, 1);
    expect(seconds).toBeLessThan(keptSeconds);
  });

  test.each(["receive", "forward"] as const)(
    "the function %s runs its bundle, with minimal permissions and no keys in its environment",
    (name) => {
      const { inputs, dependencies } = program.find(FUNCTION, name);
      expect(inputs).toMatchObject({ runtime: "nodejs24.x", handler: "index.handler" });
      expect(JSON.stringify(inputs["code"])).toContain(JSON.stringify(bundleFunction(name)).slice(1, -1));
      expect(JSON.stringify(inputs["environment"])).not.toContain("secret");
      expect(dependencies).toContain(`${POLICY}::${name}`);
      const { Statement: statements } = parse(program.find(POLICY, name).inputs["policy"]) as {
        Statement: { Action: string[]; Resource: string }[];
      };
      expect(statements.length).toBeGreaterThan(1);
      for (const { Action, Resource } of statements)
        expect([...Action, Resource]).not.toContainEqual(expect.stringMatching(/^[a-z:]*\*$/));
    },
  );

  test("the keys rotate with the configuration, and appear only in an encrypted parameter", () => {
    expect(program.find(KEY, "apichat").inputs).toMatchObject({
      derivedFrom: { secret: SEED },
      subject: "dev",
      rotations: ROTATIONS,
    });
    expect(program.find(PARAMETER, "verification-keys").inputs).toMatchObject({
      type: "SecureString",
      value: { secret: JSON.stringify({ seed: SEED, subject: "dev", rotations: ROTATIONS }) },
    });
    expectNoKeyOutsideOfSecrets(program);
  });

  test("the webhook is registered after everything that its requests need", () => {
    const webhook = program.find(WEBHOOK, "apichat");
    expect(webhook.inputs).toMatchObject({
      webhookUrl: "https://urlid.lambda-url.us-east-2.on.aws/",
      webhookVerificationKey: { secret: "apichat-new" },
    });
    expect(allDependencies(program, webhook)).toEqual(
      expect.arrayContaining([
        `${FUNCTION_URL}::receive`,
        "aws:lambda/permission:Permission::receive-url",
        "aws:lambda/permission:Permission::receive-through-url",
        `${FUNCTION}::receive`,
        `${POLICY}::receive`,
        `${PARAMETER}::verification-keys`,
        "aws:lambda/eventSourceMapping:EventSourceMapping::forward",
        `${POLICY}::forward`,
      ]),
    );
  });
});

const WORKSPACES = {
  acme: { baseUrl: "https://platform.example/acme/apichat", forwardTo: "https://chat.example/acme?token=t" },
  globex: { baseUrl: "https://platform.example/globex/apichat", forwardTo: "https://chat.example/globex" },
};
const ACCOUNT = {
  accountId: "0123456789abcdef0123456789abcdef",
  workspaces: JSON.stringify(WORKSPACES),
};
const HOSTNAME = { hostname: "hooks.example.com" };

const CONSUMER = "cloudflare:index/queueConsumer:QueueConsumer";
const DOMAIN = "cloudflare:index/workersCustomDomain:WorkersCustomDomain";
const SCRIPT = "cloudflare:index/workersScript:WorkersScript";

describe("the program of examples/cloudflare", () => {
  test("binds the seed and each target as secrets, and the rotations as plain text", async () => {
    const program = await runExample("cloudflare", { ...ACCOUNT, ...HOSTNAME });
    const { inputs } = program.find(SCRIPT, "responder");
    const forwardTo = JSON.stringify({ forwardTo: WORKSPACES.acme.forwardTo });
    expect(inputs["bindings"]).toEqual(
      expect.arrayContaining([
        { type: "secret_text", name: "KEY_SEED", text: { secret: SEED } },
        { type: "secret_text", name: "WORKSPACE_acme", text: forwardTo },
        { type: "plain_text", name: "ROTATIONS", text: JSON.stringify(ROTATIONS) },
      ]),
    );
    expectNoKeyOutsideOfSecrets(program);
    // No invocation logs: they contain URLs, and a handshake's URL may contain its key.
    expect(inputs["observability"]).toMatchObject({ logs: { enabled: true, invocationLogs: false } });
  });

  test("registers each webhook after everything that its requests need", async () => {
    const program = await runExample("cloudflare", { ...ACCOUNT, ...HOSTNAME });
    const rotating = { derivedFrom: { secret: SEED }, rotations: ROTATIONS };
    expect(program.find(KEY, "globex").inputs).toMatchObject(rotating);
    expect(program.find(DOMAIN, "address").inputs).toMatchObject({ ...HOSTNAME, service: "apichat-dev" });
    const { inputs, dependencies } = program.find(WEBHOOK, "globex");
    expect(inputs).toMatchObject({
      baseUrl: WORKSPACES.globex.baseUrl,
      webhookUrl: "https://hooks.example.com/globex",
      webhookVerificationKey: { secret: "globex-new" },
    });
    const before = [`${SCRIPT}::responder`, `${CONSUMER}::forwarder`, `${DOMAIN}::address`, `${KEY}::globex`];
    expect(dependencies).toEqual(expect.arrayContaining(before));
  });

  test("uses workers.dev if no host name is configured, and can replay dead letters", async () => {
    const config = { ...ACCOUNT, workersSubdomain: "example", replayDeadLetters: "true" };
    const program = await runExample("cloudflare", config);
    const address = program.find("cloudflare:index/workersScriptSubdomain:WorkersScriptSubdomain", "address");
    expect(address.inputs).toMatchObject({
      scriptName: "apichat-dev",
      enabled: true,
      previewsEnabled: false,
    });
    const webhookUrl = "https://apichat-dev.example.workers.dev/acme";
    expect(program.find(WEBHOOK, "acme").inputs).toMatchObject({ webhookUrl });
    const replay = { queueId: "dead-letters-queue-id", scriptName: "apichat-dev" };
    expect(program.find(CONSUMER, "replay").inputs).toMatchObject(replay);
  });

  test("reports every invalid workspace in one error", async () => {
    const wrong = { "not-a-name": WORKSPACES.acme, globex: { baseUrl: "platform.example" }, initech: null };
    const failing = runExample("cloudflare", { ...ACCOUNT, ...HOSTNAME, workspaces: JSON.stringify(wrong) });
    await expect(failing).rejects.toThrow(
      /not-a-name.*globex\.baseUrl.*globex\.forwardTo.*initech\.baseUrl/s,
    );
  });
});
