import type { PulumiFn, Stack } from "@pulumi/pulumi/automation/index.js";
import { describeCommandError } from "./command-error.js";
import type { IndexPlace } from "./messages.js";
import { withExistingStack, withStack } from "./open-stack.js";
import { runCommand, type CommandOptions } from "./run-command.js";
import type { FleetIndex } from "./task.js";

/** The index stack holds no resources: its outputs are all there is. */
export async function writeIndex(place: IndexPlace, index: FleetIndex, signal: AbortSignal): Promise<void> {
  const program: PulumiFn = () => Promise.resolve({ ...index });
  await withStack({ ...place, program }, ({ stack }) =>
    runOrThrow(stack, (options) => stack.up(options), signal),
  );
}

/** undefined if there is no such stack, or none that was ever written. */
export async function readIndex(place: IndexPlace): Promise<FleetIndex | undefined> {
  const outputs = await withExistingStack({ ...place, program: nothing }, (stack) => stack.outputs());
  if (outputs?.["botUrls"] === undefined) return undefined;
  return {
    botUrls: outputs["botUrls"].value as Record<string, string>,
    stackOf: (outputs["stackOf"]?.value ?? {}) as Record<string, string>,
  };
}

export async function removeIndex(place: IndexPlace, signal: AbortSignal): Promise<void> {
  await withExistingStack({ ...place, program: nothing }, (stack) =>
    runOrThrow(stack, (options) => stack.destroy({ ...options, runProgram: false, remove: true }), signal),
  );
}

const nothing: PulumiFn = () => Promise.resolve();

async function runOrThrow(
  stack: Stack,
  command: (options: CommandOptions) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const reading = { stack: stack.name, action: "up" } as const;
  const { reader, error } = await runCommand({ stack, command, reading, signal, onEvent: () => undefined });
  if (error === undefined) return;
  const [failure] = reader.result().failures;
  throw new Error(failure?.message ?? describeCommandError(error), { cause: error });
}
