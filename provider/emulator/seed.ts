import * as z from "zod";
import { readYamlFile } from "../lib/yaml-file.js";
import { faultRule } from "./faults.js";
import { scenario } from "./flows/scenario.js";
import { workspaceOptions, type EmulatorOptions, type WorkspaceOptions } from "./options.js";
import { switches } from "./switches.js";

/** The options that a seed file can set. */
export type Seed = Partial<Omit<EmulatorOptions, "port" | "botPort" | "host" | "token" | "data">>;

/**
 * Reads a seed file, YAML or JSON: `workspaces` (with `apiKeyEnv` and `flowApiKeyEnv` for keys in the environment), `flow`,
 * `flows` (scenarios by name), `faults`, and every switch. Returns options for `startEmulator`. Throws `invalid_config` with
 * line and field of every problem, and none of the values.
 *
 * @example
 * const emulator = await startEmulator({ ...(await readSeed("emulator.yaml")), port: 8080 });
 */
export function readSeed(path: string): Promise<Seed> {
  return readYamlFile(path, seed);
}

const environmentName = z.string().min(1);

const seedWorkspace = workspaceOptions
  .extend({
    apiKey: workspaceOptions.shape.apiKey.optional(),
    apiKeyEnv: environmentName.optional(),
    flow: z.string().min(1).optional(),
    flowApiKeyEnv: environmentName.optional(),
  })
  .transform(({ apiKey, apiKeyEnv, flowApiKey, flowApiKeyEnv, ...rest }, context): WorkspaceOptions => {
    const flowKey = chooseKey(context, "flowApiKey", flowApiKey, flowApiKeyEnv);
    return {
      ...rest,
      apiKey:
        chooseKey(context, "apiKey", apiKey, apiKeyEnv) ??
        reject(context, "apiKey", "is missing; write it, or apiKeyEnv"),
      ...(flowKey !== undefined && { flowApiKey: flowKey }),
    };
  });

/** Returns the key itself, or the key from the environment. */
function chooseKey(
  context: z.RefinementCtx,
  field: string,
  given: string | undefined,
  variable: string | undefined,
): string | undefined {
  if (variable === undefined) return given;
  if (given !== undefined)
    return reject(context, `${field}Env`, `cannot be combined with ${field}; use one of the two`);
  const value = process.env[variable];
  if (value) return value;
  return reject(context, `${field}Env`, "names an environment variable that is not set or empty; set it");
}

function reject(context: z.RefinementCtx, field: string, message: string): string {
  context.addIssue({ code: "custom", path: [field], message });
  return "";
}

const seedWorkspaces = z.array(seedWorkspace).superRefine((workspaces, context) => {
  for (const [index, { name }] of workspaces.entries()) {
    const first = workspaces.findIndex((other) => other.name === name);
    if (first === index) continue;
    const message = `is the name of workspaces[${first}] too; give each its own`;
    context.addIssue({ code: "custom", path: [index, "name"], message });
  }
});

/** The switches without their defaults: one that the file omits stays undefined. */
const givenSwitches = Object.fromEntries(
  Object.entries(switches).map(([name, schema]) => [name, withoutDefault(schema).optional()]),
);

function withoutDefault(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? (schema.unwrap() as z.ZodType)
    : schema;
}

const seed = z
  .strictObject({
    ...givenSwitches,
    workspaces: seedWorkspaces.optional(),
    flow: z.string().min(1).optional(),
    flows: z.record(z.string().min(1), scenario).optional(),
    faults: z.array(faultRule).optional(),
  })
  // The type of the switches is lost above.
  .transform((data) => data as Seed);
