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

const variable = z.string().min(1).optional();

const seedWorkspace = workspaceOptions
  .extend({
    apiKey: workspaceOptions.shape.apiKey.optional(),
    apiKeyEnv: variable,
    flow: z.string().min(1).optional(),
    flowApiKeyEnv: variable,
  })
  .transform(({ apiKeyEnv, flowApiKeyEnv, ...given }, context): WorkspaceOptions => {
    const reject = (field: string, message: string): string => {
      context.addIssue({ code: "custom", path: [field], message });
      return "";
    };
    const choose = (field: "apiKey" | "flowApiKey", name: string | undefined): string | undefined => {
      if (name === undefined) return given[field];
      if (given[field] !== undefined) {
        return reject(`${field}Env`, `cannot be combined with ${field}; use one of the two`);
      }
      return (
        process.env[name] ||
        reject(`${field}Env`, "names an environment variable that is not set or empty; set it")
      );
    };
    const flowApiKey = choose("flowApiKey", flowApiKeyEnv);
    return {
      ...given,
      apiKey: choose("apiKey", apiKeyEnv) ?? reject("apiKey", "is missing; write it, or apiKeyEnv"),
      ...(flowApiKey !== undefined && { flowApiKey }),
    };
  });

const seed = z.strictObject({
  ...switches,
  workspaces: z.array(seedWorkspace).optional(),
  flow: z.string().min(1).optional(),
  flows: z.record(z.string().min(1), scenario).optional(),
  faults: z.array(faultRule).optional(),
});
