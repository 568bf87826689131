import * as pulumi from "@pulumi/pulumi";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { SEED } from "../support/derived-keys.ts";
import { runMocked, type Declared } from "../support/mocked-program.ts";

const PROGRAM = new URL("../../examples/cloudflare/index.ts", import.meta.url).href;

const WORKSPACES = {
  acme: { baseUrl: "https://platform.example/acme/apichat", forwardTo: "https://chat.example/acme?token=t" },
  globex: { baseUrl: "https://platform.example/globex/apichat", forwardTo: "https://chat.example/globex" },
};
const CONFIG = {
  accountId: "0123456789abcdef0123456789abcdef",
  workspaces: JSON.stringify(WORKSPACES),
  keySeed: SEED,
  rotations: JSON.stringify(["2026-12", "2026-09"]),
  hostname: "hooks.example.com",
};

const KEY = "pulumi-nodejs:dynamic/apichat:VerificationKey";
const WEBHOOK = "pulumi-nodejs:dynamic/apichat:ApiChatWebhook";
const QUEUE = "cloudflare:index/queue:Queue";
const CONSUMER = "cloudflare:index/queueConsumer:QueueConsumer";
const DOMAIN = "cloudflare:index/workersCustomDomain:WorkersCustomDomain";
const SCRIPT = "cloudflare:index/workersScript:WorkersScript";

interface Program {
  resources: Declared[];
  outputs: unknown;
  /** The only resource of this type and name. */
  find(type: string, name: string): Declared;
}

/** Not a static import: it runs anew for each test, with its configuration. */
const load = (): Promise<Record<string, unknown>> => import(/* @vite-ignore */ PROGRAM);

async function runProgram(config: Record<string, string>): Promise<Program> {
  const { resources, outputs } = await runMocked(load, {
    project: "apichat-cloudflare",
    stack: "prod",
    config,
    computed: ({ type, name }) => {
      if (type === QUEUE) return { queueId: `${name}-queue-id` };
      if (type === WEBHOOK) return { botUrl: `https://bots.example/${name}`, status: "verified" };
      if (type !== KEY) return {};
      return { current: pulumi.secret(`${name}-new`), keys: pulumi.secret([`${name}-new`, `${name}-old`]) };
    },
  });
  const find = (type: string, name: string): Declared => {
    const [found, ...others] = resources.filter((one) => one.type === type && one.name === name);
    if (found === undefined || others.length > 0) throw new Error(`not exactly one ${type} ${name}`);
    return found;
  };
  return { resources, outputs, find };
}

const namesOf = ({ resources }: Program, type: string): string[] =>
  resources.filter((one) => one.type === type).map(({ name }) => name);

const bindingsOf = (program: Program): Record<string, unknown>[] =>
  program.find(SCRIPT, "responder").inputs["bindings"] as Record<string, unknown>[];

beforeEach(() => void vi.resetModules());

describe("the program", () => {
  let program: Program;

  beforeAll(async () => {
    program = await runProgram(CONFIG);
  });

  test("binds the seed of all keys, its rotations, and the target of each workspace", () => {
    const bindings = bindingsOf(program).filter(({ type }) => type === "secret_text");
    expect(bindings.map(({ name }) => name)).toEqual(["KEY_SEED", "WORKSPACE_acme", "WORKSPACE_globex"]);
    expect(bindings[0]?.["text"]).toEqual({ secret: SEED });
    expect(bindings[1]?.["text"]).toEqual(JSON.stringify({ forwardTo: WORKSPACES.acme.forwardTo }));
    expect(bindingsOf(program)).toContainEqual({
      type: "plain_text",
      name: "ROTATIONS",
      text: JSON.stringify(["2026-12", "2026-09"]),
    });
  });

  test("shows no key outside of secrets", () => {
    const { resources, outputs } = program;
    const clear = JSON.stringify([resources, outputs], (name, value: unknown) =>
      name === "secret" ? "" : value,
    );
    expect(clear).not.toMatch(/-(new|old)"/);
    expect(clear).not.toContain(SEED);
  });

  test("logs no request's URL, in which a handshake may have its key", () => {
    expect(program.find(SCRIPT, "responder").inputs["observability"]).toMatchObject({
      logs: { enabled: true, invocationLogs: false },
    });
  });

  test("registers each webhook after the Worker, its consumer, its custom domain and its key, which rotates", () => {
    expect(namesOf(program, WEBHOOK)).toEqual(["acme", "globex"]);
    expect(namesOf(program, KEY)).toEqual(["acme", "globex"]);
    expect(program.find(KEY, "acme").inputs).toMatchObject({
      derivedFrom: { secret: SEED },
      rotations: ["2026-12", "2026-09"],
    });
    expect(program.find(DOMAIN, "address").inputs).toMatchObject({
      hostname: "hooks.example.com",
      service: "apichat-prod",
    });
    const { inputs, dependencies } = program.find(WEBHOOK, "acme");
    expect(inputs).toMatchObject({
      baseUrl: WORKSPACES.acme.baseUrl,
      webhookUrl: "https://hooks.example.com/acme",
      webhookVerificationKey: { secret: "acme-new" },
      timeouts: { readySeconds: 300 },
    });
    expect(dependencies).toEqual(
      expect.arrayContaining([
        `${SCRIPT}::responder`,
        `${CONSUMER}::forwarder`,
        `${DOMAIN}::address`,
        `${KEY}::acme`,
      ]),
    );
  });
});

test("without a host name the Worker stands on workers.dev", async () => {
  const { hostname: _, ...config } = CONFIG;
  const program = await runProgram({ ...config, workersSubdomain: "example" });
  const address = program.find("cloudflare:index/workersScriptSubdomain:WorkersScriptSubdomain", "address");
  expect(address.inputs).toMatchObject({ scriptName: "apichat-prod", enabled: true, previewsEnabled: false });
  expect(program.find(WEBHOOK, "acme").inputs).toMatchObject({
    webhookUrl: "https://apichat-prod.example.workers.dev/acme",
  });
});

test("while dead letters are replayed the Worker is their consumer too", async () => {
  const program = await runProgram({ ...CONFIG, replayDeadLetters: "true" });
  expect(program.find(CONSUMER, "replay").inputs).toMatchObject({
    queueId: "dead-letters-queue-id",
    scriptName: "apichat-prod",
    settings: { maxRetries: 100 },
  });
});

test("one error names every workspace that is wrong", async () => {
  const workspaces = {
    "not-a-name": WORKSPACES.acme,
    globex: { baseUrl: "platform.example" },
    initech: null,
  };
  const failing = runProgram({ ...CONFIG, workspaces: JSON.stringify(workspaces) });
  await expect(failing).rejects.toThrow(/not-a-name.*globex\.baseUrl.*globex\.forwardTo.*initech\.baseUrl/s);
});
