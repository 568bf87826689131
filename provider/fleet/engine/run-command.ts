import type { EngineEvent, Stack } from "@pulumi/pulumi/automation/index.js";
import { createEventReader, type EventReader } from "./event-reader.js";
import { createInterrupt } from "./interrupt.js";
import { runUnlocked } from "./locks.js";
import type { StackEvent } from "./task.js";

/** What the SDK's commands take from here. */
export interface CommandOptions {
  onEvent: (event: EngineEvent) => void;
  signal: AbortSignal;
}

export interface CommandRun {
  stack: Stack;
  /** Starts one command of the engine. */
  command: (options: CommandOptions) => Promise<unknown>;
  reading: Parameters<typeof createEventReader>[0];
  signal: AbortSignal;
  onEvent: (event: StackEvent) => void;
}

export interface CommandResult {
  reader: EventReader;
  /** Why the command failed; undefined if it did not. */
  error: unknown;
}

/** The command was not begun, because the run was to stop before. */
class NotBegunError extends Error {}

/** Runs one command of the engine, and tells its events as they come. It waits for a lock, and asks once to stop. */
export async function runCommand(run: CommandRun): Promise<CommandResult> {
  let reader = createEventReader(run.reading);
  const attempt = (): Promise<unknown> => {
    reader = createEventReader(run.reading);
    return runOnce(run, reader);
  };
  skipSummary(run.stack);
  try {
    await runUnlocked(run.stack, attempt, run.signal);
    return { reader, error: undefined };
  } catch (error) {
    return { reader, error };
  }
}

async function runOnce({ command, signal, onEvent }: CommandRun, reader: EventReader): Promise<void> {
  if (signal.aborted) throw new NotBegunError("stopped before it began");
  const interrupt = createInterrupt(signal);
  try {
    await command({
      signal: interrupt.signal,
      onEvent: (event) => {
        interrupt.begun();
        for (const told of reader.read(event)) onEvent(told);
      },
    });
  } finally {
    interrupt.end();
  }
}

/**
 * After each command the SDK runs three more, for outputs and history, which nobody reads here: half of the time of a small stack,
 * and they decrypt every secret.
 */
function skipSummary(stack: Stack): void {
  Object.assign(stack, { outputs: () => Promise.resolve({}), info: () => Promise.resolve(undefined) });
}
