import * as z from "zod";
import { faultRule, type FaultRule } from "../../emulator/faults.js";
import { workspaceOptions, type WorkspaceOptions } from "../../emulator/options.js";
import { readYamlFile } from "../../yaml-file.js";

/** What a seed file says. */
export interface Seed {
  workspaces?: WorkspaceOptions[] | undefined;
  faults?: FaultRule[] | undefined;
}

const seed: z.ZodType<Seed> = z.strictObject({
  workspaces: z.array(workspaceOptions).optional(),
  faults: z.array(faultRule).optional(),
});

/** Reads a seed file. Throws `invalid_config` with line, column and field of everything that is wrong. */
export const readSeed = (file: string): Promise<Seed> => readYamlFile(file, seed);
