import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook, type ApiChatWebhookArgs } from "pulumi-apichat";
import { beforeAll, expect, test } from "vitest";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import {
  argsOf,
  callsOf,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

type Change = Omit<Declaration, "workspace">;

const names = ["acme", "globex", "initech", "umbrella"];
const NEW_KEY = "the-key-after-the-rotation";

const ECHO =
  'exports.handler=()=>({create:async(i)=>({id:"echo",outs:i}),update:async(_,o,n)=>({outs:n}),delete:async()=>{}})';

/** A resource whose only input is also its output. It can represent a program that posts to a bot URL, for example. */
class Echo extends pulumi.CustomResource {
  declare readonly value: pulumi.Output<string>;

  constructor(name: string, value: pulumi.Input<string>) {
    super("pulumi-nodejs:dynamic/test:Echo", name, { __provider: ECHO, value });
  }
}

const echo = (args: ApiChatWebhookArgs): ApiChatWebhookArgs => {
  const echoed = Object.entries(args).map(([name, value]) => [
    name,
    new Echo(name, pulumi.secret(value as string)).value,
  ]);
  return Object.fromEntries(echoed);
};

let scene: Scene;
let stack: TestStack;

/** acme's inputs are outputs of resources in the same program. Each bot URL is a stack output and an Echo's input. */
const declare = (changes: Record<string, Change>): void =>
  stack.run(async () => {
    const declared = names.map((workspace) => {
      const { name = workspace, options, ...change } = changes[workspace] ?? {};
      const args = argsOf(scene, { workspace, ...change });
      const webhook = new ApiChatWebhook(name, workspace === "acme" ? echo(args) : args, options);
      void new Echo(`${workspace}-sender`, webhook.botUrl);
      return [workspace, webhook.botUrl];
    });
    return Object.fromEntries(declared) as Record<string, pulumi.Output<string>>;
  });

/** The number of resources: the stack, four webhooks, a dependent of each, and four for acme's inputs. */
const RESOURCES = 13;

const requestCount = (): number => scene.emulator.requests.length;

beforeAll(async () => {
  scene = await openScene([...names, "empty"]);
  scene.endpoint.accept(VERIFICATION_KEY, NEW_KEY);
  stack = await createStack(scene.backend, { name: "workspaces", program: async () => ({}) });
  declare({});
});

test("up registers each webhook with its own URL, and exports its bot URL", async () => {
  expect((await stack.up()).changes).toEqual({ create: RESOURCES });
  expect(writesSince(scene, 0)).toEqual(names.map((name) => `set-webhook ${name}`));
  // One call before each set-webhook; one more, after the first, checks whether the service returns what was set.
  expect(callsOf(scene, "get-webhook")).toHaveLength(names.length + 1);
  const outputs = await stack.outputs();
  for (const name of names) {
    const { registration, botUrl, handshakes } = scene.emulator.workspace(name);
    expect(registration).toEqual({
      webhook_url: webhookUrlOf(scene, name),
      webhook_verification_key: VERIFICATION_KEY,
      webhook_status: "verified",
      bot_url: botUrl,
    });
    expect(handshakes).toMatchObject([{ verdict: "passed" }]);
    expect(outputs[name]).toBe(botUrl);
  }
  const found = await Promise.all(names.map((name) => stack.resource(name)));
  expect(found.map((resource) => resource?.id)).toEqual(
    names.map((name) => scene.emulator.workspace(name).botUrl),
  );
});

const changed: Record<string, Change> = {};

test("the preview of an update shows no change of dependents or outputs, because the bot URL is known", async () => {
  const before = requestCount();
  changed["acme"] = { args: { webhookUrl: `${scene.endpoint.url}/moved` } };
  changed["globex"] = { args: { webhookVerificationKey: NEW_KEY } };
  declare(changed);
  const { output, changes, events } = await stack.preview({ diff: true });
  expect(changes).toEqual({ update: 3, same: RESOURCES - 3 });
  expect(output).toContain("acme: webhookUrl changes: ");
  expect(output).not.toContain("-sender");
  const shown = events.map(({ resOutputsEvent }) => resOutputsEvent?.metadata);
  const ofStack = shown.find((metadata) => metadata?.type === "pulumi:pulumi:Stack");
  expect(ofStack?.new?.outputs).toEqual(await stack.outputs());
  expect(requestCount()).toBe(before);
});

test("up sets changed URLs and keys in place, and adopts the webhook of a renamed resource", async () => {
  scene.emulator.workspace("globex").change({ botBaseUrl: "http://127.0.0.2:4711" });
  const before = requestCount();
  changed["initech"] = { name: "initech-renamed" };
  changed["umbrella"] = { name: "umbrella-renamed", options: { aliases: [{ name: "umbrella" }] } };
  declare(changed);
  const { output, changes } = await stack.up({ refresh: true });
  expect(output).toMatch(/initech: .*"initech-renamed"/);
  expect(changes).toMatchObject({ create: 1, delete: 1 });
  expect(writesSince(scene, before)).toEqual(["set-webhook acme", "set-webhook globex"]);
  const registered = { webhook_verification_key: VERIFICATION_KEY, webhook_status: "verified" };
  expect(names.map((name) => scene.emulator.workspace(name).registration)).toMatchObject([
    { ...registered, webhook_url: `${scene.endpoint.url}/moved` },
    { ...registered, webhook_verification_key: NEW_KEY, webhook_url: webhookUrlOf(scene, "globex") },
    { ...registered, webhook_url: webhookUrlOf(scene, "initech") },
    { ...registered, webhook_url: webhookUrlOf(scene, "umbrella") },
  ]);
  expect((await stack.outputs())["globex"]).toBe(
    `http://127.0.0.2:4711/api/apichat/${scene.emulator.workspace("globex").botCode}`,
  );
});

test("up with --replace sets a moved webhook, then deletes the old one; an unchanged one is adopted", async () => {
  const before = requestCount();
  const { baseUrl } = scene.emulator.workspace("empty");
  changed["initech"] = { ...changed["initech"], args: { baseUrl } };
  changed["umbrella"] = { name: "umbrella-again", options: { aliases: [{ name: "umbrella-renamed" }] } };
  declare(changed);
  const { output, changes } = await stack.up({ replace: ["**initech-renamed", "**umbrella-again"] });
  expect(changes).toMatchObject({ replace: 2 });
  expect(output).toMatch(/umbrella-renamed: .*"umbrella-again"/);
  const calls = scene.emulator.requests
    .slice(before)
    .map(({ operation, workspace }) => `${operation} ${workspace}`);
  expect(calls.filter((call) => !call.startsWith("get-webhook"))).toEqual([
    "set-webhook empty",
    "delete-webhook initech",
  ]);
  expect(registeredWorkspaces(scene)).toEqual(["acme", "globex", "umbrella", "empty"]);
});

test("destroy deletes every webhook, with two calls for each workspace", async () => {
  const before = requestCount();
  expect((await stack.destroy()).changes).toEqual({ delete: RESOURCES });
  expect(writesSince(scene, before)).toEqual(
    ["acme", "empty", "globex", "umbrella"].map((name) => `delete-webhook ${name}`),
  );
  expect(requestCount() - before).toBe(2 * names.length);
  expect(registeredWorkspaces(scene)).toEqual([]);
  await expectNoSecrets(stack, [NEW_KEY]);
});
