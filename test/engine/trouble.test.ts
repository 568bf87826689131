import { ApiChatWebhook } from "pulumi-apichat";
import { beforeAll, expect, test } from "vitest";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import {
  argsOf,
  expectNoSecrets,
  openScene,
  QUERY_VALUE,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const FOREIGN = {
  webhook_url: "https://somebody-else.example/hook",
  webhook_verification_key: "the-key-of-somebody-else",
};
const STRANGE_KEY = "a-key-that-somebody-set-by-hand";
/** A key that the endpoint rejects. */
const REJECTED_KEY = "another-key-0123456789";
const secrets = [FOREIGN.webhook_verification_key, STRANGE_KEY, REJECTED_KEY];

const drifted = ["gone", "key", "status", "url"];
const names = ["broken", "equal", "refusing", "taken", "untouched", ...drifted].toSorted();

/** Returns the lines that the engine's diagnostics show below a resource's name. */
function linesUnder(output: string, name: string): string[] {
  const [, block = ""] = new RegExp(`ApiChatWebhook \\(${name}\\):\\n((?: {4}.*\\n)+)`).exec(output) ?? [];
  return block.trimEnd().split("\n");
}

const without = (...left: string[]): string[] => names.filter((name) => !left.includes(name));
const setWebhooks = (of: readonly string[]): string[] => of.map((name) => `set-webhook ${name}`).toSorted();

let scene: Scene;
let stack: TestStack;
/** A URL without a query is not secret, so the preview shows it. */
let plainUrl: string;

const declare = (changes: Record<string, Declaration["args"]> = {}): void => {
  const all: typeof changes = { ...changes, url: { webhookUrl: plainUrl } };
  stack.run(async () => {
    for (const workspace of names)
      void new ApiChatWebhook(workspace, argsOf(scene, { workspace, args: all[workspace] ?? {} }));
  });
};
const workspace = (name: string) => scene.emulator.workspace(name);
const expectAsDeclared = (declared: readonly string[]): void => {
  for (const name of declared) {
    expect(workspace(name).registration).toMatchObject({
      webhook_url: name === "url" ? plainUrl : webhookUrlOf(scene, name),
      webhook_verification_key: VERIFICATION_KEY,
      webhook_status: "verified",
    });
  }
};

beforeAll(async () => {
  scene = await openScene(names);
  plainUrl = `${scene.endpoint.url}/url`;
  workspace("taken").takeOver(FOREIGN);
  workspace("equal").takeOver({
    webhook_url: webhookUrlOf(scene, "equal"),
    webhook_verification_key: VERIFICATION_KEY,
  });
  stack = await createStack(scene.backend, { program: async () => ({}) });
});

test("a preview reports what each create would find, and fails on a conflict", async () => {
  declare();
  const output = await stack.fails("preview");
  expect(linesUnder(output, "taken").join()).toMatch(
    /error: taken: .* already has a webhook, https:\/\/somebody-else/,
  );
  expect(linesUnder(output, "equal").join()).toContain("adopts http");
  expect(linesUnder(output, "untouched")).toEqual([""]);
  expect(new Set(scene.emulator.requests.map(({ operation }) => operation))).toEqual(
    new Set(["get-webhook"]),
  );
});

test("up adopts a webhook that has the declared URL, and fails on a conflict or a failing endpoint", async () => {
  declare({ refusing: { webhookVerificationKey: REJECTED_KEY, timeouts: { readySeconds: 1 } } });
  const output = await stack.fails("up", { continueOnError: true });
  expect(linesUnder(output, "taken").join()).toContain(FOREIGN.webhook_url);
  expect(linesUnder(output, "refusing").join()).toMatch(/error: refusing: .*token=\*\*\*.*HTTP 401/);
  expect(writesSince(scene, 0)).toEqual(setWebhooks(without("equal", "refusing", "taken")));
  expect(workspace("equal").handshakes, "nothing to verify").toEqual([]);
  expect(workspace("taken").registration).toMatchObject(FOREIGN);
  expectAsDeclared(without("refusing", "taken"));
});

test("refresh shows each change, removes missing webhooks from the state, and sets nothing", async () => {
  workspace("url").change({ webhook_url: `${scene.endpoint.url}/changed-by-hand` });
  workspace("key").change({ webhook_verification_key: STRANGE_KEY });
  workspace("status").change({ webhook_status: "failed" });
  workspace("gone").removeRegistration();
  const before = scene.emulator.requests.length;
  const { output, changes } = await stack.refresh();
  expect(changes).toEqual({ same: 4, update: 3, delete: 1 });
  expect(output).toContain("key: webhookVerificationKey: ");
  expect(writesSince(scene, before)).toEqual([]);
});

test("the next preview names each changed property, and shows both values unless they are secret", async () => {
  // Without onExisting, the preview would fail on the conflict.
  declare({ taken: { onExisting: "replace" } });
  const { output, changes } = await stack.preview({ diff: true });
  expect(changes).toEqual({ same: 4, update: 3, create: 3 });
  expect(output).toMatch(
    new RegExp(`~ webhookUrl\\s*: "${scene.endpoint.url}/changed-by-hand" => "${plainUrl}"`),
  );
  expect(output).toMatch(/~ status\s*: "failed" => "verified"/);
  // The preview hides secret values, so a line of the provider names the changed property.
  expect(output).toContain("key: webhookVerificationKey: ");
  expect(output).not.toContain("ApiChatWebhook::untouched");
});

test('up repairs drift, takes over with "replace", and keeps a webhook whose endpoint fails', async () => {
  const before = scene.emulator.requests.length;
  const webhookUrl = `http://127.0.0.1:9/?token=${QUERY_VALUE}`;
  declare({
    taken: { onExisting: "replace" },
    broken: { webhookUrl, timeouts: { readySeconds: 1 } },
  });
  const lines = linesUnder(await stack.fails("up", { continueOnError: true }), "broken");
  expect(lines[0]).toMatch(/error: broken: .*http:\/\/127.0.0.1:.*token=\*\*\*/);
  expect(lines.length).toBeLessThanOrEqual(12);
  expect(writesSince(scene, before)).toEqual(setWebhooks([...drifted, "refusing", "taken"]));
  expectAsDeclared(names);
});

test("destroy keeps a webhook that somebody else has taken over, and prints a warning", async () => {
  workspace("taken").takeOver(FOREIGN);
  workspace("gone").removeRegistration();
  const before = scene.emulator.requests.length;
  const { output } = await stack.destroy();
  expect(output).toMatch(new RegExp(`taken: warning: .*${FOREIGN.webhook_url}`));
  expect(output).not.toContain("gone: warning");
  expect(writesSince(scene, before)).toEqual(
    without("gone", "taken").map((name) => `delete-webhook ${name}`),
  );
  expect(workspace("taken").registration).toMatchObject(FOREIGN);
  expect(registeredWorkspaces(scene)).toEqual(["taken"]);
  await expectNoSecrets(stack, secrets);
});
