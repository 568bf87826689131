import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import type { DeclaredWebhook, FleetProgram } from "../definition.js";
import type { Failure } from "../reports.js";
import type { ProgramTask } from "./task.js";

/** How many workspaces a failure lists by name. */
const NAMED = 5;

/** Loads the user's program. Throws if the module has none. */
export async function loadProgram(url: string): Promise<FleetProgram> {
  const module = (await import(url)) as { default?: unknown };
  if (typeof module.default === "function") return module.default as FleetProgram;
  throw new Error(
    `the program ${url} has no function as its default export: write "export default function program(stack) { … }"`,
  );
}

/**
 * The program of one stack for the engine. It exports the bot URLs and statuses. What is wrong with it goes to `fail`, and ends
 * the run before anything is removed.
 */
export function toInlineProgram(
  program: FleetProgram,
  task: ProgramTask,
  fail: (failure: Omit<Failure, "stack">) => void,
): PulumiFn {
  return async () => {
    const declared = await runProgram(program, task, fail);
    const missing = task.workspaces.map(({ name }) => name).filter((name) => !isDeclared(declared[name]));
    if (missing.length > 0) {
      const failure = describeMissing(missing);
      fail(failure);
      throw new Error(failure.message);
    }
    const entries = Object.entries(declared);
    return {
      botUrls: Object.fromEntries(entries.map(([name, { botUrl }]) => [name, botUrl])),
      statuses: Object.fromEntries(entries.map(([name, { status }]) => [name, status])),
    };
  };
}

async function runProgram(
  program: FleetProgram,
  { stack, index, workspaces, rotation }: ProgramTask,
  fail: (failure: Omit<Failure, "stack">) => void,
): Promise<Record<string, DeclaredWebhook>> {
  try {
    // A program in JavaScript may give nothing.
    return (await program({ name: stack, index, workspaces, rotation })) ?? {};
  } catch (error) {
    fail({ message: `the program failed: ${error instanceof Error ? error.message : String(error)}` });
    throw error;
  }
}

const isDeclared = (webhook: DeclaredWebhook | undefined): boolean =>
  webhook?.botUrl !== undefined && webhook.status !== undefined;

function describeMissing(names: readonly string[]): Omit<Failure, "stack"> {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  const message = `the program gives no webhook for ${names.slice(0, NAMED).join(", ")}${more}: return one for each workspace of the stack, by its name`;
  const [only] = names;
  return names.length === 1 && only !== undefined ? { workspace: only, message } : { message };
}
