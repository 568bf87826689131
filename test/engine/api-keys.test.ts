import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import {
  callsOf,
  declareWebhooks,
  findLeaks,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  type Scene,
} from "../support/scene.ts";
import { createStack, requireSuccess, type TestStack } from "../support/stack.ts";

const ENVIRONMENT_KEY = "ak-environment-0123456789";
const CONFIGURED_KEY = "ak-configuration-0123456789";
const WRONG_KEY = "ak-wrong-0123456789";
const ROTATED_KEYS = [
  "ak-rotated-1-0123456789",
  "ak-rotated-2-0123456789",
  "ak-rotated-3-0123456789",
] as const;
const secrets = [ENVIRONMENT_KEY, CONFIGURED_KEY, WRONG_KEY, ...ROTATED_KEYS];

const WAY_OUT = "set APICHAT_API_KEY for this command, or run pulumi up first";
const UNAUTHORIZED = /get-webhook at \S+: HTTP 401.*\n\s*The API key is issued by the platform's support/;

/** A webhook whose program names no API key. */
const fromDefault = (workspace: string) => ({ workspace, args: { apiKey: undefined } });

describe("the API key comes from the argument, the environment or the configuration", () => {
  let scene: Scene;
  let stack: TestStack;

  beforeAll(async () => {
    scene = await openScene([], {
      workspaces: [
        { name: "argument", apiKey: API_KEY },
        { name: "environment", apiKey: ENVIRONMENT_KEY },
        { name: "configured", apiKey: CONFIGURED_KEY },
      ],
    });
    stack = await createStack(scene.backend, {
      program: declareWebhooks(scene, ["argument", fromDefault("configured")]),
      config: { "apichat:apiKey": { value: CONFIGURED_KEY, secret: true } },
    });
  });
  afterAll(() => scene.close());

  test("the argument wins over the configuration, and a key of the configuration is not in the resource", async () => {
    requireSuccess(await stack.up());
    expect(registeredWorkspaces(scene)).toEqual(["argument", "configured"]);
    const state = await stack.exportedState();
    expect(inputNamesOf(state, "argument")).toContain("apiKey");
    expect(inputNamesOf(state, "configured")).not.toContain("apiKey");
  });

  test("the environment wins over the configuration, also where that is wrong: the same up says so", async () => {
    stack.setEnvironment({ APICHAT_API_KEY: ENVIRONMENT_KEY });
    const { ok, output } = await stack.up();
    expect(ok).toBe(false);
    expect(output).toMatch(UNAUTHORIZED);
    stack.run(declareWebhooks(scene, ["argument", fromDefault("environment")]));
    requireSuccess(await stack.up());
    expect(registeredWorkspaces(scene)).toEqual(["argument", "environment"]);
    expect(callsOf(scene, "set-webhook", "environment")).toMatchObject([
      { body: { ChaveApi: ENVIRONMENT_KEY } },
    ]);
    expect(inputNamesOf(await stack.exportedState(), "environment")).not.toContain("apiKey");
  });

  test("destroy finds each key again", async () => {
    expect(await findLeaks([stack], secrets)).toEqual([]);
    requireSuccess(await stack.destroy());
    expect(registeredWorkspaces(scene)).toEqual([]);
  });
});

/** Of the command's summary of what went wrong. */
function linesAbout(subject: RegExp, output: string): string[] {
  const [, diagnostics = ""] = /^Diagnostics:\n([^]*?)^(?:Outputs|Resources):/m.exec(output) ?? [];
  return diagnostics.split("\n").filter((line) => subject.test(line));
}

describe("a wrong API key", () => {
  let scene: Scene;
  let stack: TestStack;

  beforeAll(async () => {
    scene = await openScene(["acme"]);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, []) });
  });
  afterAll(() => scene.close());

  test("fails create as unauthorized, after one call", async () => {
    stack.run(declareWebhooks(scene, [{ workspace: "acme", args: { apiKey: WRONG_KEY } }]));
    const { ok, output } = await stack.up();
    expect(ok).toBe(false);
    expect(output).toMatch(UNAUTHORIZED);
    expect(scene.emulator.requests.map(({ action, status }) => [action, status])).toEqual([
      ["get-webhook", 401],
    ]);
  });

  test("fails refresh, which keeps the state, and destroy, which keeps the registration", async () => {
    stack.run(declareWebhooks(scene, ["acme"]));
    requireSuccess(await stack.up());
    scene.emulator.workspace("acme").apiKey = ROTATED_KEYS[0];
    for (const command of ["refresh", "destroy"] as const) {
      const { ok, output } = await stack[command]();
      expect(ok).toBe(false);
      expect(output).toMatch(UNAUTHORIZED);
      expect(output).toContain(WAY_OUT);
      expect(linesAbout(/HTTP 401|API key/, output)).toHaveLength(2);
      expect(await stack.exportedState()).toContain("ApiChatWebhook::acme");
      expect(scene.emulator.workspace("acme").registration).toMatchObject({ webhook_status: "verified" });
    }
    expect(await findLeaks([stack], secrets)).toEqual([]);
  });
});

describe.each(["argument", "configuration", "environment"] as const)(
  "a rotated API key in the %s",
  (source) => {
    let scene: Scene;
    let stack: TestStack;
    let current: string;
    /** Commands that do not run the program know today's environment, and the rest of the last up. */
    const known = { ok: source === "environment", saysWayOut: source !== "environment" };

    beforeAll(async () => {
      scene = await openScene(["acme"]);
      stack = await createStack(scene.backend, { program: declareWebhooks(scene, []) });
      await give(API_KEY);
      requireSuccess(await stack.up());
    });
    afterAll(() => scene.close());

    /** Puts a key where this round gives it. */
    const give = async (apiKey: string, args: object = {}): Promise<void> => {
      current = apiKey;
      const given = source === "argument" ? apiKey : undefined;
      stack.run(declareWebhooks(scene, [{ workspace: "acme", args: { apiKey: given, ...args } }]));
      if (source === "environment") stack.setEnvironment({ APICHAT_API_KEY: apiKey });
      if (source === "configuration") {
        await stack.stack.setConfig("apichat:apiKey", { value: apiKey, secret: true });
      }
    };

    const rotate = async (apiKey: string, args: object = {}): Promise<void> => {
      scene.emulator.workspace("acme").apiKey = apiKey;
      await give(apiKey, args);
    };

    const expectAlive = (): void => {
      expect(scene.emulator.workspace("acme").registration).toMatchObject({ webhook_status: "verified" });
    };

    test("up pushes a change with it", async () => {
      const webhookUrl = `${webhookUrlOf(scene, "acme")}&again=yes`;
      await rotate(ROTATED_KEYS[0], { webhookUrl });
      requireSuccess(await stack.up());
      expect(scene.emulator.workspace("acme").registration).toMatchObject({ webhook_url: webhookUrl });
      expect(callsOf(scene, "set-webhook").at(-1)).toMatchObject({
        body: { ChaveApi: current },
        status: 200,
      });
    });
    test("refresh and up --refresh take it from the environment; else they say so, and keep everything", async () => {
      await rotate(ROTATED_KEYS[1]);
      for (const command of [() => stack.refresh(), () => stack.up({ refresh: true })]) {
        const { ok, output } = await command();
        expect({ ok, saysWayOut: output.includes(WAY_OUT) }).toEqual(known);
        expect(await stack.exportedState()).toContain("ApiChatWebhook::acme");
        expectAlive();
      }
    });

    test("up takes it from anywhere, and refresh knows it from then on", async () => {
      requireSuccess(await stack.up());
      expect(await stack.refresh({ expectNoChanges: true })).toMatchObject({ ok: true });
      expectAlive();
    });

    test("destroy takes it from the environment of the command", async () => {
      await rotate(ROTATED_KEYS[2]);
      expect(await findLeaks([stack], secrets)).toEqual([]);
      const { ok, output } = await stack.destroy();
      expect({ ok, saysWayOut: output.includes(WAY_OUT) }).toEqual(known);
      expect(registeredWorkspaces(scene)).toEqual(ok ? [] : ["acme"]);
      stack.setEnvironment({ APICHAT_API_KEY: ROTATED_KEYS[2] });
      requireSuccess(await stack.destroy());
      expect(registeredWorkspaces(scene)).toEqual([]);
    });
  },
);

/** The names of the inputs that the state holds of a resource. */
function inputNamesOf(state: string, name: string): string[] {
  const { deployment } = JSON.parse(state) as {
    deployment: { resources: { urn: string; inputs: Record<string, unknown> }[] };
  };
  const found = deployment.resources.find(({ urn }) => urn.endsWith(`::${name}`));
  return Object.keys(found?.inputs ?? {});
}
