import type { RequestListener } from "node:http";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import {
  declareWebhooks,
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
const CONFIGURED_KEY = "ak-configuration-0123456789";
const ROTATED_KEY = "ak-rotated-0123456789";
const BODY = "Hello, I am a web page";
const secrets = [FOREIGN.webhook_verification_key, STRANGE_KEY, REJECTED_KEY, CONFIGURED_KEY, ROTATED_KEY];

const drifted = ["gone", "key", "status", "url", "url-with-query"];
const others = ["bot-host", "broken", "configured", "equal", "other-key", "refusing", "taken", "untouched"];
const names = [...others, ...drifted].toSorted();

const responder = toNodeListener(
  createResponder({ verificationKeys: VERIFICATION_KEY, onDelivery: () => {} }),
);
const answerOnPath: RequestListener = (request, response) =>
  request.url?.startsWith("/web-page") ? void response.end(BODY) : responder(request, response);

/** The lines of the diagnostics that the engine shows under a resource's name. */
function linesUnder(output: string, name: string): string[] {
  const [, block = ""] = new RegExp(`ApiChatWebhook \\(${name}\\):\\n((?: {4}.*\\n)+)`).exec(output) ?? [];
  return block.trimEnd().split("\n");
}

const without = (...left: string[]): string[] => names.filter((name) => !left.includes(name));
const setWebhooks = (of: readonly string[]): string[] => of.map((name) => `set-webhook ${name}`).toSorted();

describe("drift, conflicts, broken endpoints and a rotated API key", () => {
  let scene: Scene;
  let stack: TestStack;
  /** Without a query it is not secret, so the preview shows it. */
  let plainUrl: string;

  const declare = (changes: Record<string, Declaration["args"]> = {}): void => {
    const usual: Record<string, Declaration["args"]> = {
      configured: { apiKey: undefined },
      url: { webhookUrl: plainUrl },
    };
    const declarations = names.map((workspace) => ({
      workspace,
      args: { ...usual[workspace], ...changes[workspace] },
    }));
    stack.run(declareWebhooks(scene, declarations));
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
    const apiKeyOf = (name: string) => (name === "configured" ? CONFIGURED_KEY : API_KEY);
    scene = await openScene([], { workspaces: names.map((name) => ({ name, apiKey: apiKeyOf(name) })) });
    scene.endpoint.answerWith(answerOnPath);
    plainUrl = `${scene.endpoint.url}/url`;
    workspace("taken").takeOver(FOREIGN);
    for (const name of ["equal", "other-key"]) {
      const webhook_verification_key = name === "equal" ? VERIFICATION_KEY : STRANGE_KEY;
      workspace(name).takeOver({ webhook_url: webhookUrlOf(scene, name), webhook_verification_key });
    }
    stack = await createStack(scene.backend, {
      program: async () => ({}),
      config: { "apichat:apiKey": { value: CONFIGURED_KEY, secret: true } },
    });
  });

  test("a preview reports what each create would find, and fails for a conflict", async () => {
    declare();
    const output = await stack.fails("preview");
    expect(linesUnder(output, "taken").join()).toMatch(
      /error: taken: .* already has a webhook, https:\/\/somebody-else/,
    );
    expect(linesUnder(output, "equal").join()).toContain("adopts http");
    expect(linesUnder(output, "untouched")).toEqual([""]);
    expect(new Set(scene.emulator.requests.map(({ action }) => action))).toEqual(new Set(["get-webhook"]));
  });

  test("up adopts a webhook with its URL, and fails for a conflict and a failing endpoint", async () => {
    declare({ refusing: { webhookVerificationKey: REJECTED_KEY, timeouts: { readySeconds: 1 } } });
    const output = await stack.fails("up", { continueOnError: true });
    expect(linesUnder(output, "taken").join()).toContain(FOREIGN.webhook_url);
    expect(linesUnder(output, "refusing").join()).toMatch(/error: refusing: .*token=\*\*\*.*HTTP 401/);
    expect(writesSince(scene, 0)).toEqual(setWebhooks(without("equal", "refusing", "taken")));
    expect(workspace("equal").handshakes, "nothing to verify").toEqual([]);
    expect(workspace("taken").registration).toMatchObject(FOREIGN);
    expectAsDeclared(without("refusing", "taken"));
    expect((await stack.resource("configured"))?.inputs).not.toHaveProperty("apiKey");
  });

  test("refresh shows each change, removes missing webhooks from the state, and writes nothing", async () => {
    workspace("url").change({ webhook_url: `${scene.endpoint.url}/changed-by-hand` });
    workspace("url-with-query").change({ webhook_url: `${webhookUrlOf(scene, "changed")}&more=1` });
    workspace("key").change({ webhook_verification_key: STRANGE_KEY });
    workspace("status").change({ webhook_status: "failed" });
    workspace("bot-host").change({ botBaseUrl: "http://127.0.0.2:4711" });
    workspace("gone").removeRegistration();
    const before = scene.emulator.requests.length;
    const { output, changes } = await stack.refresh();
    expect(changes).toEqual({ same: 6, update: 5, delete: 1 });
    expect(output).toContain("key: webhookVerificationKey: ");
    expect(writesSince(scene, before)).toEqual([]);
  });

  test("the next preview names each changed property, with both values unless they are secret", async () => {
    // Without onExisting, the preview fails for the conflict.
    declare({ taken: { onExisting: "replace" } });
    const { output, changes } = await stack.preview({ diff: true });
    expect(changes).toEqual({ same: 6, update: 5, create: 3 });
    expect(output).toMatch(
      new RegExp(`~ webhookUrl\\s*: "${scene.endpoint.url}/changed-by-hand" => "${plainUrl}"`),
    );
    expect(output).toMatch(/~ status\s*: "failed" => "verified"/);
    // The preview hides secrets, so a separate line names the change.
    expect(output).toContain("key: webhookVerificationKey: ");
    const [before, after] = ["changed?token=***&more=***", "url-with-query?token=***"];
    expect(output).toContain(`${scene.endpoint.url}/${before} => ${scene.endpoint.url}/${after}`);
    expect(output).not.toContain("ApiChatWebhook::untouched");
  });

  test('up repairs drift, takes over with "replace", and keeps a webhook whose endpoint fails', async () => {
    const before = scene.emulator.requests.length;
    declare({
      taken: { onExisting: "replace" },
      broken: { webhookUrl: `${scene.endpoint.url}/web-page?token=${QUERY_VALUE}` },
    });
    const output = await stack.fails("up", { continueOnError: true });
    const lines = linesUnder(output, "broken");
    expect(lines[0]).toMatch(/error: broken: .*http:\/\/127.0.0.1:.*token=\*\*\*/);
    expect(lines.join()).toContain(BODY);
    expect(lines.length).toBeLessThanOrEqual(12);
    expect(writesSince(scene, before)).toEqual(setWebhooks([...drifted, "refusing", "taken"]));
    expect(registeredWorkspaces(scene)).toEqual(names);
    expectAsDeclared(names);
    const { outputs } = (await stack.resource("bot-host")) ?? {};
    expect(outputs?.["botUrl"]).toMatch(/^http:\/\/127\.0\.0\.2:4711\//);
  });

  test("refresh fails with a rotated API key, and names the variable to set", async () => {
    workspace("configured").apiKey = ROTATED_KEY;
    const output = await stack.fails("refresh");
    expect(output).toContain("HTTP 401");
    expect(output).toContain("APICHAT_API_KEY");
    expect(await stack.resource("configured")).toBeDefined();
  });

  test("destroy uses the API key of the environment, and keeps a taken-over webhook with a warning", async () => {
    workspace("taken").takeOver(FOREIGN);
    workspace("gone").removeRegistration();
    await expectNoSecrets(stack, secrets);
    const before = scene.emulator.requests.length;
    stack.setEnvironment({ APICHAT_API_KEY: ROTATED_KEY });
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
});
