import { readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as pulumi from "@pulumi/pulumi";
import { toWireLine } from "../lib/provider-process.js";
import type { DeclaredWebhook, FleetProgram, FleetStack } from "./definition.js";

/** Names the file with the {@link ProgramFile} of a run. */
export const PROGRAM_FILE_VARIABLE = "APICHAT_FLEET_PROGRAM";

/** What the engine's program process is given, in a file of its owner's alone: API keys may be in it, so it is gone once it is read. */
export type ProgramFile =
  | { program: string; stack: FleetStack; refuseRandomKeys: boolean }
  /** The index stack has no resources: its outputs are all there is. */
  | { outputs: Record<string, unknown> };

/** How many workspaces a failure lists by name. */
const NAMED = 5;

/** What the engine runs for every stack of a fleet: calls the user's program, and exports bot URLs and statuses. */
export async function runFleetProgram(): Promise<Record<string, unknown>> {
  const path = process.env[PROGRAM_FILE_VARIABLE] ?? "";
  const file = JSON.parse(readFileSync(path, "utf8")) as ProgramFile;
  rmSync(path);
  if ("outputs" in file) return file.outputs;
  const { program, stack, refuseRandomKeys } = file;
  process.chdir(dirname(fileURLToPath(program)));
  if (refuseRandomKeys) pulumi.runtime.registerStackTransformation(refuseRandomKey);
  const declare = await loadProgram(program);
  // A program in JavaScript may give nothing.
  const declared = (await declare(stack)) ?? {};
  requireAll(stack, declared);
  const entries = Object.entries(declared);
  return {
    botUrls: Object.fromEntries(entries.map(([name, { botUrl }]) => [name, botUrl])),
    statuses: Object.fromEntries(entries.map(([name, { status }]) => [name, status])),
  };
}

async function loadProgram(url: string): Promise<FleetProgram> {
  const module = (await import(url)) as { default?: unknown };
  if (typeof module.default === "function") return module.default as FleetProgram;
  throw new pulumi.RunError(
    `the program ${url} has no function as its default export: write "export default function program(stack) { … }"`,
  );
}

/** Ends the run before anything is removed. */
function requireAll({ workspaces }: FleetStack, declared: Record<string, DeclaredWebhook | undefined>): void {
  const missing = workspaces
    .map(({ name }) => name)
    .filter((name) => declared[name]?.botUrl === undefined || declared[name].status === undefined);
  if (missing.length === 0) return;
  const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : "";
  throw new pulumi.RunError(
    `the program gives no webhook for ${missing.slice(0, NAMED).join(", ")}${more}: return one for each workspace of the stack, by its name`,
  );
}

export const KEY_TYPE = "pulumi-nodejs:dynamic/apichat:VerificationKey";

/** Without checkpoints a killed run would lose a random key: so the run ends before one is made, and begins again with them. */
const refuseRandomKey: pulumi.ResourceTransformation = ({ type, name, props }) => {
  if (type !== KEY_TYPE || props["derivedFrom"] !== undefined) return undefined;
  console.log(toWireLine({ randomKey: name }));
  throw new pulumi.RunError(`${name}: a random key is not made without checkpoints`);
};
