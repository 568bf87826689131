import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { ApiChatWebhookArgs } from "pulumi-apichat";
import {
  startEmulator,
  type Emulator,
  type EmulatorOptions,
  type RecordedRequest,
} from "pulumi-apichat/emulator";
import { expect } from "vitest";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "./endpoint.ts";
import { afterTests } from "./http.ts";
import { findSecrets } from "./secrets.ts";
import { createBackend, type Backend, type TestStack } from "./stack.ts";

/** The value of `token` in the query of webhook URLs. Some endpoints require such a token. */
export const QUERY_VALUE = "qv-token-0123456789";

/** The service, an endpoint and a backend, which exist until the last test of the test file has finished. */
export interface Scene {
  emulator: Emulator;
  endpoint: Endpoint;
  backend: Backend;
}

/** Starts an endpoint, a backend, and an emulator with these workspaces, which share an API key. */
export async function openScene(names: readonly string[], options: EmulatorOptions = {}): Promise<Scene> {
  const workspaces = names.map((name) => ({ name, apiKey: API_KEY }));
  const [emulator, endpoint, backend] = await Promise.all([
    startEmulator({ workspaces, ...options }),
    startEndpoint(),
    createBackend(),
  ]);
  afterTests(() => emulator.close());
  return { emulator, endpoint, backend };
}

/** The URL for a workspace's webhook: at the scene's endpoint, with a secret in its query. */
export function webhookUrlOf(scene: { endpoint: Pick<Endpoint, "url"> }, name: string): string {
  return `${scene.endpoint.url}/${name}?token=${QUERY_VALUE}`;
}

/** One webhook of a program: its workspace, and the arguments that differ from the tests' usual ones. */
export interface Declaration {
  workspace: string;
  /** The resource's name. Default: the workspace's. */
  name?: string;
  args?: Partial<ApiChatWebhookArgs>;
  options?: CustomResourceOptions;
}

/** The arguments of a webhook on the scene's endpoint. */
export function argsOf(scene: Scene, { workspace, args }: Declaration): ApiChatWebhookArgs {
  return {
    baseUrl: scene.emulator.workspace(workspace).baseUrl,
    apiKey: API_KEY,
    webhookUrl: webhookUrlOf(scene, workspace),
    webhookVerificationKey: VERIFICATION_KEY,
    ...args,
  };
}

/** The calls of one action that the emulator received, including those that it rejected. */
export function callsOf({ emulator }: Scene, action: string, workspace?: string): RecordedRequest[] {
  return emulator.requests.filter(
    (request) => request.operation === action && (workspace === undefined || request.workspace === workspace),
  );
}

/** Lists the writes after the first requestCount requests as sorted texts such as "set-webhook acme". */
export function writesSince({ emulator }: Pick<Scene, "emulator">, requestCount: number): string[] {
  return emulator.requests
    .slice(requestCount)
    .filter(({ operation }) => operation === "set-webhook" || operation === "delete-webhook")
    .map(({ operation, workspace }) => `${operation} ${workspace}`)
    .toSorted();
}

/** The names of the workspaces that have a registration. */
export function registeredWorkspaces({ emulator }: Pick<Scene, "emulator">): string[] {
  return [...emulator.workspaces.values()]
    .filter(({ registration }) => registration !== undefined)
    .map(({ name }) => name);
}

/** Fails if a file of a backend (checkpoint, backup, history) contains one of these secrets unencrypted. */
export async function expectCleanBackend({ folder }: Backend, secrets: readonly string[]): Promise<void> {
  const files = await readTree(join(folder, ".pulumi"));
  expect(files.size).toBeGreaterThan(3);
  const leaks = [...files].filter(([, text]) => findSecrets(text, secrets).length > 0);
  expect(leaks.map(([file]) => file)).toEqual([]);
}

/** Reads every file of a folder, at any depth, into a map from path to text. */
export async function readTree(folder: string): Promise<Map<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(files.map(async (file) => [file, await readFile(file, "utf8")] as const)));
}

/** Fails if a stack's output or state contains a secret of the scene's webhooks, or one of `more`. */
export async function expectNoSecrets(
  stack: Pick<TestStack, "printed" | "state">,
  more: readonly string[] = [],
): Promise<void> {
  expect(stack.printed()).not.toBe("");
  const shown = stack.printed() + (await stack.state());
  expect(findSecrets(shown, [API_KEY, VERIFICATION_KEY, QUERY_VALUE, ...more])).toEqual([]);
}
