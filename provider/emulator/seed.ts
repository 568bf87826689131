import * as z from "zod";
import { readYamlFile } from "../lib/yaml-file.js";
import { faultRule } from "./faults.js";
import { workspaceOptions, type EmulatorOptions, type WorkspaceOptions } from "./options.js";
import { FLOW_NAMES } from "./names.js";
import { switches } from "./open-point-options.js";

/** The options that a seed file can set. */
export type Seed = Partial<Omit<EmulatorOptions, "port" | "botPort" | "host" | "token">>;

/**
 * Reads a seed file, YAML or JSON: `workspaces` (with `apiKeyEnv` for a key in the environment), `flow`,
 * `faults`, and every switch. Returns options for `startEmulator`. Throws `invalid_config` with the line and
 * the field of every problem, but without any values.
 *
 * @example
 * const emulator = await startEmulator({ ...(await readSeed("emulator.yaml")), port: 8080 });
 */
export function readSeed(path: string): Promise<Seed> {
  return readYamlFile(path, seed);
}

const flow = z.enum(FLOW_NAMES).optional();

const seedWorkspace = workspaceOptions
  .extend({
    apiKey: workspaceOptions.shape.apiKey.optional(),
    apiKeyEnv: z.string().min(1).optional(),
    flow,
  })
  .transform(({ apiKey, apiKeyEnv, ...given }, context): WorkspaceOptions => {
    const reject = (field: string, message: string): string => {
      context.addIssue({ code: "custom", path: [field], message });
      return "";
    };
    const readKey = (): string => {
      if (apiKeyEnv === undefined) return apiKey ?? reject("apiKey", "is missing; set it, or apiKeyEnv");
      if (apiKey !== undefined)
        return reject("apiKeyEnv", "cannot be combined with apiKey; use one of the two");
      return (
        process.env[apiKeyEnv] ||
        reject("apiKeyEnv", "names an environment variable that is unset or empty; set it")
      );
    };
    return { ...given, apiKey: readKey() };
  });

const seed = z.strictObject({
  ...switches,
  workspaces: z.array(seedWorkspace).optional(),
  flow,
  faults: z.array(faultRule).optional(),
});
