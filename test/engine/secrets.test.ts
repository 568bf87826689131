import * as pulumi from "@pulumi/pulumi";
import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";
import { beforeAll, describe, expect, test } from "vitest";
import { DERIVED, SEED } from "../support/derived-keys.ts";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import type { ProcessInfo } from "../support/processes.ts";
import { createProject, type Project } from "../support/program-folder.ts";
import {
  argsOf,
  callsOf,
  expectCleanBackend,
  openScene,
  QUERY_VALUE,
  registeredWorkspaces,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { responderEnvironment } from "../support/responder.ts";
import { findSecrets } from "../support/secrets.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const ENVIRONMENT_KEY = "ak-environment-0123456789";
const NEXT_KEY = "vk-next-0123456789";
const STRANGE_KEY = "vk-strange-0123456789";
const BASE_QUERY = "tenant-0123456789";
/** The name of a workspace whose base URL is a secret of the configuration. */
const HIDDEN = "hidden-0123456789";
const secrets = [
  API_KEY,
  VERIFICATION_KEY,
  QUERY_VALUE,
  ENVIRONMENT_KEY,
  NEXT_KEY,
  STRANGE_KEY,
  BASE_QUERY,
  HIDDEN,
];

const expectCleanArguments = (processes: readonly ProcessInfo[]): void => {
  const commandLines = processes.map(({ commandLine }) => commandLine.join(" "));
  // The CLI and the provider at least: else nothing was looked at.
  expect(commandLines.some((line) => line.startsWith("pulumi "))).toBe(true);
  expect(commandLines.some((line) => line.includes("dynamic-provider"))).toBe(true);
  expect(findSecrets(commandLines.join("\n"), secrets)).toEqual([]);
};

const base64 = (text: string): string => Buffer.from(text).toString("base64");

test("the search finds a secret plain, URL-encoded and in base64", () => {
  for (const secret of secrets) {
    const traces = [secret, encodeURIComponent(secret), base64(secret), base64(`{"key":"${secret}"}`)];
    expect(traces.filter((trace) => findSecrets(`... ${trace} ...`, [secret]).length === 0)).toEqual([]);
  }
});

describe("no key, no query value and no secret base URL leaves a run in clear", () => {
  let scene: Scene;
  let project: Project;

  const declare = (changes: Declaration["args"] = {}): Promise<void> =>
    project.declare([
      { workspace: "argument", args: changes },
      { workspace: "environment", args: { apiKey: undefined, ...changes } },
      { workspace: HIDDEN, name: "configured", args: { baseUrl: undefined, ...changes, ...webhookOfHidden } },
    ]);
  /** The scene's own URL would name the workspace. */
  let webhookOfHidden: { webhookUrl: string };

  beforeAll(async () => {
    scene = await openScene([], {
      workspaces: [
        { name: "argument", apiKey: API_KEY, baseUrlQuery: `tenant=${BASE_QUERY}` },
        { name: "environment", apiKey: ENVIRONMENT_KEY },
        { name: HIDDEN, apiKey: API_KEY },
      ],
    });
    webhookOfHidden = { webhookUrl: `${scene.endpoint.url}/configured` };
    project = await createProject(scene, { APICHAT_API_KEY: ENVIRONMENT_KEY });
    const { baseUrl } = scene.emulator.workspace(HIDDEN);
    await project.run("config", "set", "--secret", "apichat:baseUrl", baseUrl);
    await declare();
  });

  /** Runs a command, and looks at its processes while the service holds a call of the provider. Gives what it printed. */
  const watch = async (...parameters: string[]): Promise<string> => {
    const before = callsOf(scene, "get-webhook").length;
    scene.emulator.injectFault({ operation: "get-webhook", fault: { delayMs: 1500 } });
    const run = project.start(...parameters);
    await run.until(() => callsOf(scene, "get-webhook").length > before);
    expectCleanArguments(await run.processes());
    expect(await run.done).toMatchObject({ exitCode: 0 });
    return run.output();
  };

  const expectClean = async (): Promise<void> =>
    expect(findSecrets(project.printed() + (await project.state()), secrets)).toEqual([]);

  test("not in the arguments of any process of up and refresh, nor in what they print, also of a drift", async () => {
    await watch("up", "--yes", "--skip-preview");
    expect(registeredWorkspaces(scene)).toHaveLength(3);
    scene.emulator.workspace("argument").change({
      webhook_url: `${scene.endpoint.url}/strange?token=${QUERY_VALUE}`,
      webhook_verification_key: STRANGE_KEY,
    });
    const refreshed = await watch("refresh", "--yes", "--skip-preview", "--diff");
    expect(refreshed).toMatch(/argument: webhookVerificationKey: the service has a different key/);
    await expectClean();
  });

  test("not in a preview that shows the drift and a changed URL and key, nor in a failing check", async () => {
    const webhookUrl = `${scene.endpoint.url}/next?token=${QUERY_VALUE}`;
    await declare({ webhookUrl, webhookVerificationKey: NEXT_KEY });
    expect(await project.run("preview", "--diff")).toContain("argument: webhookVerificationKey");
    await declare({ webhookUrl: `/next?token=${QUERY_VALUE}`, webhookVerificationKey: `${NEXT_KEY} ` });
    expect(await project.fails("preview", "--diff")).toContain("webhookVerificationKey: ");
    await expectClean();
  });

  test("not in any file of the backend: checkpoints, backups and history", async () => {
    await expectCleanBackend(scene.backend, secrets);
  });

  test("not in the arguments of destroy", async () => {
    scene.emulator.workspace("argument").change({
      webhook_url: `${scene.endpoint.url}/argument?token=${QUERY_VALUE}`,
      webhook_verification_key: VERIFICATION_KEY,
    });
    await watch("destroy", "--yes", "--skip-preview");
    expect(registeredWorkspaces(scene)).toEqual([]);
    await expectClean();
  });
});

/** Properties that a transformation sets as plain strings, by the end of the resource's type. */
const PLAIN: Record<string, object> = {
  ApiChatWebhook: { webhookVerificationKey: VERIFICATION_KEY },
  VerificationKey: { initial: NEXT_KEY },
  ResponderProcess: { workspaces: { acme: { verificationKeys: [NEXT_KEY] } } },
};

const typeOf = (type: string): string => type.split(":").at(-1) ?? "";

describe.each<[string, () => void]>([
  [
    "a resource transform that returns the properties as they are",
    () => pulumi.runtime.registerResourceTransform(({ props, opts }) => ({ props: { ...props }, opts })),
  ],
  [
    "a stack transformation that sets plain strings",
    () =>
      pulumi.runtime.registerStackTransformation(({ type, name, props, opts }) => ({
        props: name === "derived" || name === "random" ? props : { ...props, ...PLAIN[typeOf(type)] },
        opts,
      })),
  ],
])("%s leaves every key encrypted", (_, transform) => {
  const [[, subject, rotations, derivedKeys]] = DERIVED as [(typeof DERIVED)[number]];
  let scene: Scene;
  let stack: TestStack;

  const programOf =
    (rotation: string): PulumiFn =>
    async () => {
      transform();
      const given = new VerificationKey("given", { initial: VERIFICATION_KEY });
      const random = new VerificationKey("random", { rotation });
      const derived = new VerificationKey("derived", { derivedFrom: SEED, subject, rotations });
      const responder = new HandshakeResponder("chat", {
        workspaces: { acme: { verificationKeys: given.keys, forwardTo: scene.endpoint.url } },
      });
      const webhook = new ApiChatWebhook("acme", argsOf(scene, { workspace: "acme" }));
      return { current: random.current, others: [derived.urn, responder.urn, webhook.urn] };
    };

  beforeAll(async () => {
    scene = await openScene(["acme"]);
    stack = await createStack(scene.backend, {
      program: programOf("2026-09"),
      environment: responderEnvironment(scene.backend),
    });
  });

  const expectClean = async (): Promise<void> => {
    const { current } = (await stack.secretOutputs()) as { current: string };
    const hidden = [...secrets, SEED, ...derivedKeys, current];
    expect(findSecrets(stack.printed() + (await stack.state()), hidden)).toEqual([]);
  };

  test("after an up, an up without changes, a refresh and a rotation", async () => {
    const { changes } = await stack.up();
    expect(changes).toEqual({ create: 7 });
    await expectClean();
    expect((await stack.preview()).changes).toEqual({ same: 7 });
    await stack.refresh();
    await expectClean();
    stack.run(programOf("2026-12"));
    expect((await stack.up()).changes).toEqual({ same: 6, update: 1 });
    await expectClean();
  });
});

test("an input that a transform misspells is rejected in a preview, by its name", async () => {
  const scene = await openScene(["acme"]);
  const program: PulumiFn = async () => {
    pulumi.runtime.registerResourceTransform(({ props, opts }) => ({
      props: { ...props, preflght: "off" },
      opts,
    }));
    return { status: new ApiChatWebhook("acme", argsOf(scene, { workspace: "acme" })).status };
  };
  const stack = await createStack(scene.backend, { program });
  expect(await stack.fails("preview")).toContain("no such input: preflght (did you mean preflight?)");
});
