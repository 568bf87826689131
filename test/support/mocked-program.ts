import * as pulumi from "@pulumi/pulumi";
import { MockMonitor, type MockResourceArgs } from "@pulumi/pulumi/runtime/mocks.js";
import { vi } from "vitest";

/** A resource that the program has registered. */
export interface Declared {
  type: string;
  name: string;
  /** Its inputs; a secret is `{ secret: value }`. */
  inputs: Record<string, unknown>;
  /** The resources that it waits for, as `<type>::<name>`: the sources of its inputs, and its `dependsOn`. */
  dependencies: string[];
}

export interface MockedProgram {
  project: string;
  stack: string;
  config: Record<string, string>;
  /** The outputs that the engine would return in addition to the inputs. */
  computed: (args: MockResourceArgs) => Record<string, unknown>;
}

/**
 * Runs a Pulumi program of one module on Pulumi's mocks. Returns the resources that it registered, and its
 * outputs.
 */
export async function runMocked(
  load: () => Promise<Record<string, unknown>>,
  { project, stack, config, computed }: MockedProgram,
): Promise<{ resources: Declared[]; outputs: unknown }> {
  const resources: Declared[] = [];
  const register = vi.spyOn(MockMonitor.prototype, "registerResource");
  const mocks: pulumi.runtime.Mocks = {
    newResource: (args) => ({ id: `${args.name}-id`, state: { ...args.inputs, ...computed(args) } }),
    call: ({ token }) => {
      throw new Error(`${token}: this program should call no function`);
    },
  };
  try {
    await pulumi.runtime.setMocks(mocks, project, stack);
    pulumi.runtime.setAllConfig(
      Object.fromEntries(Object.entries(config).map(([name, value]) => [`${project}:${name}`, value])),
    );
    const outputs = await runAsStack(load);
    for (const [request] of register.mock.calls) resources.push(readRequest(request as RegisterRequest));
    return { resources, outputs };
  } finally {
    register.mockRestore();
  }
}

/** Runs the program and returns its error: the SDK would throw it twice, once as an unhandled rejection. */
async function runAsStack(load: () => Promise<Record<string, unknown>>): Promise<unknown> {
  const failures: unknown[] = [];
  const outputs: unknown = await pulumi.runtime.runInPulumiStack(() =>
    load().catch((error: unknown) => void failures.push(error)),
  );
  await pulumi.runtime.disconnect();
  if (failures.length > 0) throw failures[0];
  return outputs;
}

/** The part of the engine's message that the mocks read. */
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

/** The signature that marks a secret in the engine's protocol. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

function markSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(markSecrets);
  if (typeof value !== "object" || value === null) return value;
  const { [SIGNATURE]: signature, ...rest } = value as Record<string, unknown>;
  if (signature === SECRET) return { secret: markSecrets(rest["value"]) };
  return Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, markSecrets(one)]));
}
