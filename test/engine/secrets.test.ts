import * as pulumi from "@pulumi/pulumi";
import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";
import { beforeAll, expect, test } from "vitest";
import { DERIVED, SEED } from "../support/derived-keys.ts";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import type { ProcessInfo } from "../../tools/lib/processes.ts";
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
import { createStack } from "../support/stack.ts";

const ENVIRONMENT_KEY = "ak-environment-0123456789";
const NEXT_KEY = "vk-next-0123456789";
const STRANGE_KEY = "vk-strange-0123456789";
const BASE_QUERY = "tenant-0123456789";
/** A workspace whose base URL is a secret setting of the stack. */
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
  // The CLI and the provider must be among the processes; otherwise the check for secrets proves nothing.
  expect(commandLines.some((line) => line.startsWith("pulumi "))).toBe(true);
  expect(commandLines.some((line) => line.includes("dynamic-provider"))).toBe(true);
  expect(findSecrets(commandLines.join("\n"), secrets)).toEqual([]);
};

let scene: Scene;
let project: Project;

const declare = (changes: Declaration["args"] = {}): Promise<void> =>
  project.declare([
    { workspace: "argument", args: changes },
    { workspace: "environment", args: { apiKey: undefined, ...changes } },
    { workspace: HIDDEN, name: "configured", args: { baseUrl: undefined, ...changes, ...webhookOfHidden } },
  ]);
/** HIDDEN's webhook URL. The scene's default URL is unsuitable: it contains the workspace's name, which is secret. */
let webhookOfHidden: { webhookUrl: string };

beforeAll(async () => {
  scene = await openScene([], {
    workspaces: [
      { name: "argument", apiKey: API_KEY, baseUrlQuery: `tenant=${BASE_QUERY}` },
      { name: "environment", apiKey: ENVIRONMENT_KEY },
      { name: HIDDEN, apiKey: API_KEY },
    ],
  });
  scene.endpoint.accept(VERIFICATION_KEY, NEXT_KEY);
  webhookOfHidden = { webhookUrl: `${scene.endpoint.url}/configured` };
  project = await createProject(scene, { APICHAT_API_KEY: ENVIRONMENT_KEY });
  const { baseUrl } = scene.emulator.workspace(HIDDEN);
  await project.run("config", "set", "--secret", "apichat:baseUrl", baseUrl);
  await declare();
});

/**
 * Runs a command, and inspects its processes while the service delays its response to one of the provider's
 * calls. Returns the command's result.
 */
const watch = async (...parameters: string[]) => {
  const before = callsOf(scene, "get-webhook").length;
  scene.emulator.injectFault({ operation: "get-webhook", fault: { delayMs: 1500 } });
  const run = project.start(...parameters);
  await run.until(() => callsOf(scene, "get-webhook").length > before);
  expectCleanArguments(await run.processes());
  return run.done;
};

test("keys, queries and secret base URLs are never in arguments, output or files, even with a conflict", async () => {
  expect(await watch("up", "--yes", "--skip-preview")).toMatchObject({ exitCode: 0 });
  expect(registeredWorkspaces(scene)).toHaveLength(3);
  scene.emulator.workspace("argument").change({
    webhook_url: `${scene.endpoint.url}/strange?token=${QUERY_VALUE}`,
    webhook_verification_key: STRANGE_KEY,
  });
  const webhookUrl = `${scene.endpoint.url}/next?token=${QUERY_VALUE}`;
  await declare({ webhookUrl, webhookVerificationKey: NEXT_KEY });
  const { output } = await watch("up", "--yes", "--skip-preview", "--refresh", "--diff");
  expect(output).toMatch(/argument: webhookVerificationKey: the service has a different key/);
  expect(output).toMatch(/error: argument: .* now has the webhook/);
  expect(findSecrets(project.printed() + (await project.state()), secrets)).toEqual([]);
  await expectCleanBackend(scene.backend, secrets);
});

/** Properties that the transformation sets to plain strings. Each entry is for one type of resource. */
const PLAIN: Record<string, object> = {
  ApiChatWebhook: { webhookVerificationKey: VERIFICATION_KEY },
  ResponderProcess: { workspaces: { acme: { verificationKeys: [NEXT_KEY] } } },
};

/** Registers transforms that return all properties, but without their secret marks. */
function transform(): void {
  pulumi.runtime.registerResourceTransform(({ props, opts }) => ({ props: { ...props }, opts }));
  pulumi.runtime.registerStackTransformation(({ type, props, opts }) => ({
    props: { ...props, ...PLAIN[type.split(":").at(-1) ?? ""] },
    opts,
  }));
}

test("every key stays encrypted under transforms and stack transformations, even after a rotation", async () => {
  const [[, subject, rotations, derivedKeys]] = DERIVED as [(typeof DERIVED)[number]];
  const own = await openScene(["acme"]);
  const currents = new Set<string>();
  const programOf =
    (rotation: string): PulumiFn =>
    async () => {
      transform();
      const given = new VerificationKey("given", { initial: VERIFICATION_KEY });
      const random = new VerificationKey("random", { rotation });
      void new VerificationKey("derived", { derivedFrom: SEED, subject, rotations });
      void new HandshakeResponder("chat", {
        workspaces: { acme: { verificationKeys: given.keys, forwardTo: own.endpoint.url } },
      });
      void new ApiChatWebhook("acme", argsOf(own, { workspace: "acme" }));
      random.current.apply((current) => currents.add(current));
    };
  const stack = await createStack(own.backend, {
    program: programOf("2026-09"),
    environment: responderEnvironment(own.backend),
  });
  expect((await stack.up()).changes).toEqual({ create: 7 });
  stack.run(programOf("2026-12"));
  expect((await stack.up({ refresh: true })).changes).toEqual({ same: 6, update: 1 });
  expect(currents.size).toBe(2);
  const hidden = [...secrets, SEED, ...derivedKeys, ...currents];
  expect(findSecrets(stack.printed() + (await stack.state()), hidden)).toEqual([]);
});
