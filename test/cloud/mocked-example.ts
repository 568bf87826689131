import * as pulumi from "@pulumi/pulumi";
import { MockMonitor } from "@pulumi/pulumi/runtime/mocks.js";
import { vi } from "vitest";
import { SEED } from "../support/derived-keys.ts";

export const ROTATIONS = ["2026-12", "2026-09"];

export const KEY = "pulumi-nodejs:dynamic/apichat:VerificationKey";
export const WEBHOOK = "pulumi-nodejs:dynamic/apichat:ApiChatWebhook";
export const FUNCTION_URL = "aws:lambda/functionUrl:FunctionUrl";

/** A resource that the program has registered. */
interface Declared {
  type: string;
  name: string;
  /** Its inputs; a secret is `{ secret: value }`. */
  inputs: Record<string, unknown>;
  /** The resources that it waits for, as `<type>::<name>`: the sources of its inputs, and its `dependsOn`. */
  dependencies: string[];
}

export interface Program {
  resources: Declared[];
  outputs: unknown;
  /** Returns the only resource of this type and name. */
  find: (type: string, name: string) => Declared;
}

/** Runs a cloud's example program with Pulumi's mocks. */
export async function runExample(
  cloud: "aws" | "cloudflare",
  config: Record<string, string>,
): Promise<Program> {
  const project = `apichat-${cloud}`;
  const settings = Object.entries({ keySeed: SEED, rotations: JSON.stringify(ROTATIONS), ...config });
  using register = vi.spyOn(MockMonitor.prototype, "registerResource");
  await pulumi.runtime.setMocks(MOCKS, project, "dev");
  pulumi.runtime.setAllConfig(
    Object.fromEntries(settings.map(([name, value]) => [`${project}:${name}`, value])),
  );
  const outputs = await runAsStack(new URL(`../../examples/${cloud}/index.ts`, import.meta.url));
  const resources = register.mock.calls.map(([request]) => readRequest(request as RegisterRequest));
  const find = (type: string, name: string): Declared => {
    const [found, ...others] = resources.filter((one) => one.type === type && one.name === name);
    if (found === undefined || others.length > 0) throw new Error(`there is not exactly one ${type} ${name}`);
    return found;
  };
  return { resources, outputs, find };
}

const MOCKS: pulumi.runtime.Mocks = {
  newResource: ({ type, name, inputs }) => {
    const state = { ...inputs, arn: `arn of ${name} (${type})`, ...compute(type, name) };
    return { id: `${name}-id`, state };
  },
  call: ({ token }) => {
    throw new Error(`${token}: this program should not call functions`);
  },
};

/** Outputs that the cloud and the provider would return. */
function compute(type: string, name: string): Record<string, unknown> {
  if (type === "cloudflare:index/queue:Queue") return { queueId: `${name}-queue-id` };
  if (type === FUNCTION_URL) return { functionUrl: "https://urlid.lambda-url.us-east-2.on.aws/" };
  if (type === WEBHOOK) return { botUrl: `https://bots.example/${name}`, status: "verified" };
  if (type !== KEY) return { name: `${name}-0a1b2c3`, url: `https://sqs.example/${name}` };
  return { current: pulumi.secret(`${name}-new`), keys: pulumi.secret([`${name}-new`, `${name}-old`]) };
}

/** Runs the program. Hides its error from the SDK, which would throw it again as an unhandled rejection. */
async function runAsStack({ href }: URL): Promise<unknown> {
  const failures: unknown[] = [];
  // Not a static import: the program is CommonJS, has its own tsconfig, and runs again for each test.
  vi.resetModules();
  const load = (): Promise<Record<string, unknown>> => import(/* @vite-ignore */ href);
  const outputs: unknown = await pulumi.runtime.runInPulumiStack(() =>
    load().catch((error: unknown) => void failures.push(error)),
  );
  await pulumi.runtime.disconnect();
  if (failures.length > 0) throw failures[0];
  return outputs;
}

/** A RegisterResource message to the engine; only the methods that these tests call. */
interface RegisterRequest {
  getType(): string;
  getName(): string;
  getObject(): { toJavaScript(): Record<string, unknown> } | undefined;
  getDependenciesList(): string[];
}

function readRequest(request: RegisterRequest): Declared {
  return {
    type: request.getType(),
    name: request.getName(),
    inputs: markSecrets(request.getObject()?.toJavaScript() ?? {}) as Record<string, unknown>,
    dependencies: request
      .getDependenciesList()
      .map((urn) => urn.split("::").slice(2).join("::").replace(/^.*\$/, "")),
  };
}

/** The key that marks special values in the engine's protocol; with the value `SECRET`, it marks a secret. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

function markSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(markSecrets);
  if (typeof value !== "object" || value === null) return value;
  const { [SIGNATURE]: signature, ...rest } = value as Record<string, unknown>;
  if (signature === SECRET) return { secret: markSecrets(rest["value"]) };
  return Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, markSecrets(one)]));
}
