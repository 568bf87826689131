import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import {
  callsOf,
  declareWebhooks,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const CONFIGURED_KEY = "ak-configuration-0123456789";
const ROTATED_KEYS = ["ak-rotated-1-0123456789", "ak-rotated-2-0123456789"] as const;
const secrets = [CONFIGURED_KEY, ...ROTATED_KEYS];
const names = ["argument", "default"];

describe("the API key comes from the argument, the environment or the configuration", () => {
  let scene: Scene;
  let stack: TestStack;

  /** One webhook whose program names this key, and one whose program names none. */
  const declare = (apiKey: string, more: Declaration["args"] = {}): void =>
    stack.run(
      declareWebhooks(scene, [
        { workspace: "argument", args: { apiKey, ...more } },
        { workspace: "default", args: { apiKey: undefined, ...more } },
      ]),
    );

  const rotate = (apiKey: string): void => {
    for (const name of names) scene.emulator.workspace(name).apiKey = apiKey;
  };

  const inputsOf = async (name: string): Promise<string[]> =>
    Object.keys((await stack.resource(name))?.inputs ?? {});

  beforeAll(async () => {
    scene = await openScene([], {
      workspaces: [
        { name: "argument", apiKey: API_KEY },
        { name: "default", apiKey: CONFIGURED_KEY },
      ],
    });
    stack = await createStack(scene.backend, {
      program: async () => ({}),
      config: { "apichat:apiKey": { value: CONFIGURED_KEY, secret: true } },
    });
    declare(API_KEY);
  });

  test("the argument wins, and a key of the configuration is not in the resource", async () => {
    await stack.up();
    expect(registeredWorkspaces(scene)).toEqual(names);
    expect(await inputsOf("argument")).toContain("apiKey");
    expect(await inputsOf("default")).not.toContain("apiKey");
  });

  test("once it is rotated, refresh fails, keeps everything, and names the variable that helps", async () => {
    rotate(ROTATED_KEYS[0]);
    const output = await stack.fails("refresh");
    expect(output).toContain("HTTP 401");
    expect(output).toContain("APICHAT_API_KEY");
    for (const name of names) {
      expect(await stack.resource(name)).toBeDefined();
      expect(scene.emulator.workspace(name).registration).toMatchObject({ webhook_status: "verified" });
    }
  });

  test("up takes it from the argument and the configuration, and a new URL is pushed with it", async () => {
    await stack.stack.setConfig("apichat:apiKey", { value: ROTATED_KEYS[0], secret: true });
    declare(ROTATED_KEYS[0], { webhookUrl: `${scene.endpoint.url}/moved` });
    await stack.up();
    for (const name of names) {
      expect(callsOf(scene, "set-webhook", name).at(-1)).toMatchObject({
        request: { body: expect.stringContaining(`"ChaveApi":"${ROTATED_KEYS[0]}"`) as string },
        status: 200,
      });
    }
  });

  test("destroy takes it from the environment of the command", async () => {
    rotate(ROTATED_KEYS[1]);
    await expectNoSecrets(stack, secrets);
    stack.setEnvironment({ APICHAT_API_KEY: ROTATED_KEYS[1] });
    await stack.destroy({ refresh: true });
    expect(registeredWorkspaces(scene)).toEqual([]);
    await expectNoSecrets(stack, secrets);
  });
});
