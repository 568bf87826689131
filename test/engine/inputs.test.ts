import { ApiChatWebhook, type ApiChatWebhookArgs } from "pulumi-apichat";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Echo } from "../support/echo.ts";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { failuresIn } from "../support/failures.ts";
import { createProject } from "../support/project.ts";
import {
  argsOf,
  declareWebhooks,
  findLeaks,
  openScene,
  QUERY_VALUE,
  registeredWorkspaces,
  webhookUrlOf,
  type Scene,
} from "../support/scene.ts";
import { createStack, requireSuccess, type TestStack } from "../support/stack.ts";

describe("inputs that a preview does not know yet", () => {
  let scene: Scene;
  let stack: TestStack;

  beforeAll(async () => {
    scene = await openScene(["acme"]);
    stack = await createStack(scene.backend, { program: () => declareFromOthers() });
  });
  afterAll(() => scene.close());

  /** Every input comes from a resource that the same up creates. */
  const declareFromOthers = async (suffix = ""): Promise<Record<string, unknown>> => {
    const { baseUrl, apiKey, webhookUrl, webhookVerificationKey } = argsOf(scene, { workspace: "acme" });
    const known = { baseUrl, apiKey, webhookVerificationKey, webhookUrl: `${webhookUrl as string}${suffix}` };
    const echoed = Object.entries(known).map(
      ([name, value]) => [name, new Echo(name, value as string).value] as const,
    );
    const args = Object.fromEntries(echoed) as unknown as ApiChatWebhookArgs;
    return { bot_url: new ApiChatWebhook("acme", args).botUrl };
  };

  test("a preview of the create passes and calls nothing; up registers", async () => {
    const preview = await stack.preview();
    requireSuccess(preview);
    expect(preview.changes).toMatchObject({ create: 6 });
    expect(scene.emulator.requests).toEqual([]);
    requireSuccess(await stack.up());
    expect(scene.emulator.workspace("acme").registration).toMatchObject({
      webhook_url: webhookUrlOf(scene, "acme"),
      webhook_verification_key: VERIFICATION_KEY,
    });
    expect(await stack.outputs()).toEqual({ bot_url: scene.emulator.workspace("acme").botUrl });
  });

  test("a preview of the update passes and calls nothing; up pushes it, in place", async () => {
    stack.run(() => declareFromOthers("&again=yes"));
    const before = scene.emulator.requests.length;
    const preview = await stack.preview();
    requireSuccess(preview);
    expect(scene.emulator.requests).toHaveLength(before);
    const { changes } = requireSuccess(await stack.up());
    expect(changes).toMatchObject({ update: 2, same: 4 });
    expect(scene.emulator.workspace("acme").registration).toMatchObject({
      webhook_url: `${webhookUrlOf(scene, "acme")}&again=yes`,
    });
  });
});

describe("invalid inputs", () => {
  let scene: Scene;
  let stack: TestStack;

  beforeAll(async () => {
    scene = await openScene(["acme"]);
    const wrong: Record<string, unknown> = {
      baseUrl: `platform.example/acme?token=${QUERY_VALUE}`,
      webhookUrl: `https://user:${VERIFICATION_KEY.slice(0, 2)}@chat.example/hook?token=${QUERY_VALUE}#part`,
      webhookVerificationKey: ` ${VERIFICATION_KEY}\n`,
      apiKey: `${API_KEY} `,
      onExisting: "overwrite",
      preflight: "maybe",
      timeouts: { requestSeconds: 0, readySeconds: "60", retries: 3 },
    };
    const program = declareWebhooks(scene, [{ workspace: "acme", args: wrong }]);
    stack = await createStack(scene.backend, { program });
  });
  afterAll(() => scene.close());

  test.each(["preview", "up"] as const)(
    "%s reports every one of them at once, and calls nothing",
    async (command) => {
      const { ok, output } = await stack[command]();
      expect(ok).toBe(false);
      const failures = failuresIn(output).join("\n");
      for (const reason of [
        /baseUrl: must be an absolute http or https URL, got "platform.example\/acme"; write for example/,
        /webhookUrl: must be a URL without user name and password, got "https:\/\/chat.example\/hook\?token=\*\*\*"/,
        /webhookVerificationKey: must be without white space around it, got \d+ characters, \d+ after trimming/,
        /apiKey: must be without white space around it, got \d+ characters, \d+ after trimming/,
        /onExisting: must be one of "fail", "replace", got "overwrite"/,
        /preflight: must be one of "require", "warn", "off", got "maybe"/,
        /timeouts.requestSeconds: must be a number of seconds from 1 to 3600, got 0/,
        /timeouts.readySeconds: must be a number of seconds from 0 to 3600, got a string/,
        /timeouts.retries: is not known; write requestSeconds or readySeconds/,
      ]) {
        expect(failures).toMatch(reason);
      }
      expect(scene.emulator.requests).toEqual([]);
      expect(registeredWorkspaces(scene)).toEqual([]);
    },
  );

  test("what is missing is reported too, with every way to give it", async () => {
    const missing = { baseUrl: undefined, apiKey: undefined, webhookVerificationKey: "" };
    stack.run(declareWebhooks(scene, [{ workspace: "acme", args: missing }]));
    const { ok, output } = await stack.preview();
    expect(ok).toBe(false);
    expect(output).toMatch(/baseUrl: is missing; .*apichat:baseUrl.*APICHAT_BASE_URL/);
    expect(output).toMatch(/apiKey: is missing; .*APICHAT_API_KEY.*apichat:apiKey/);
    expect(output).toContain("webhookVerificationKey: must be non-empty");
  });

  test("and no secret is printed or in the state", async () => {
    expect(await findLeaks([stack])).toEqual([]);
  });
});

test("a misspelt argument ends the program with one line that names the right one, and no stack", async () => {
  const scene = await openScene(["acme"]);
  const project = await createProject(scene);
  await project.declare([{ workspace: "acme", args: { webhookUlr: "a typing mistake" } as object }]);
  const { ok, output } = await project.run("up", "--yes", "--skip-preview");
  await Promise.all([project.remove(), scene.close()]);
  expect(ok).toBe(false);
  expect(output).toContain(
    "error: acme: no such argument: webhookUlr (did you mean webhookUrl?); the arguments are",
  );
  expect(output).not.toMatch(/^\W*at .*:\d+|ApiChatError|unhandled exception/m);
});
