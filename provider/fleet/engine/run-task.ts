import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { PulumiFn, Stack } from "@pulumi/pulumi/automation/index.js";
import type { Failure, StackReport } from "../reports.js";
import { describeCommandError, saysChanges } from "./command-error.js";
import { loadProgram, toInlineProgram } from "./inline-program.js";
import { findPending, requireNoneForgotten } from "./pending.js";
import { withExistingStack, withStack, type StackToOpen } from "./open-stack.js";
import { runCommand, type CommandOptions, type CommandResult } from "./run-command.js";
import type { DestroyTask, ProgramTask, StackEvent, StackTask } from "./task.js";

export interface Running {
  signal: AbortSignal;
  onEvent: (event: StackEvent) => void;
}

/** One task under way, and what was seen of it. */
interface TaskRun<T extends StackTask = StackTask> extends Running {
  task: T;
  /** What no engine event tells. */
  failures: Failure[];
  /** Of the task's command; undefined if it did not come to that. */
  result: CommandResult | undefined;
}

/** Runs one task to its report: what goes wrong is in it. */
export async function runTask(task: StackTask, { signal, onEvent }: Running): Promise<StackReport> {
  const started = performance.now();
  const run: TaskRun = { task, signal, onEvent, failures: [], result: undefined };
  try {
    await (task.action === "preview" || task.action === "up"
      ? runProgram(run as TaskRun<ProgramTask>)
      : runWithoutProgram(run as TaskRun<DestroyTask>));
  } catch (error) {
    run.failures.push({ stack: task.stack, message: describeCommandError(error) });
  }
  const report = toReport(run);
  const told = new Set(
    run.result?.reader.result().failures.filter(({ workspace }) => workspace !== undefined),
  );
  for (const failure of report.failures) if (!told.has(failure)) onEvent({ type: "failure", failure });
  return { ...report, seconds: (performance.now() - started) / 1000 };
}

async function runProgram(run: TaskRun<ProgramTask>): Promise<void> {
  const { task } = run;
  const program = await loadProgram(task.program);
  const inline = toInlineProgram(program, task, (failure) => {
    run.failures.push({ ...failure, stack: task.stack });
  });
  const refresh = { refresh: task.refresh ?? false };
  await withStack(placeOf(task, inline), async ({ stack, isNew }) => {
    if (task.action === "up") {
      await runIt(run, stack, (options) => stack.up({ ...options, ...refresh, continueOnError: true }));
      if (run.result?.error === undefined && (await hasPending(run, stack))) await clearPending(run, stack);
      return;
    }
    const expectNoChanges = task.expectNoChanges ?? false;
    await runIt(run, stack, (options) => stack.preview({ ...options, ...refresh, expectNoChanges }));
    // A preview needs a stack, and is to leave none behind.
    if (isNew) await stack.workspace.removeStack(stack.name);
  });
}

async function runWithoutProgram(run: TaskRun<DestroyTask>): Promise<void> {
  const { task } = run;
  await withExistingStack(placeOf(task, nothing), async (stack) => {
    if (task.action === "refresh") {
      return runIt(run, stack, (options) => stack.refresh({ ...options, runProgram: false }));
    }
    const removal = { runProgram: false, remove: true, continueOnError: true };
    await requireNoneForgotten(stack);
    await runIt(run, stack, (options) => stack.destroy({ ...options, ...removal }));
  });
}

async function runIt(
  run: TaskRun,
  stack: Stack,
  command: (options: CommandOptions) => Promise<unknown>,
): Promise<void> {
  const { task, signal, onEvent } = run;
  run.result = await runCommand({ stack, command, reading: task, signal, onEvent });
}

/** The engine warns of it, but not if it refreshes first. */
async function hasPending({ task, result }: TaskRun<ProgramTask>, stack: Stack): Promise<boolean> {
  if (result?.reader.hasPending()) return true;
  return task.refresh === true && (await findPending(stack)).length > 0;
}

/** What an ended run was creating is in the state by now; without this, every later run warns of it. */
async function clearPending(run: TaskRun, stack: Stack): Promise<void> {
  const { error } = await runCommand({
    stack,
    command: (options) => stack.refresh({ ...options, runProgram: false, clearPendingCreates: true }),
    reading: { stack: run.task.stack, action: "refresh" },
    signal: run.signal,
    onEvent: () => undefined,
  });
  if (error !== undefined) throw error;
}

/** `refresh` and `destroy` do not run it. */
const nothing: PulumiFn = () => Promise.resolve();

function placeOf(task: StackTask, program: PulumiFn): StackToOpen {
  const { stack, project, secretsProvider } = task;
  return {
    stack,
    project,
    program,
    main: dirname(fileURLToPath(task.program)),
    ...(secretsProvider === undefined ? {} : { secretsProvider }),
  };
}

function toReport({ task, signal, failures, result }: TaskRun): Omit<StackReport, "seconds"> {
  const read = result?.reader.result() ?? { webhooks: [], failures: [], notes: [] };
  const all = collectFailures(task, failures, result);
  const isStopped = signal.aborted && (result?.error !== undefined || result === undefined);
  const told = isStopped ? all.filter(({ workspace }) => workspace !== undefined) : all;
  const outcome = isStopped ? "stopped" : told.length > 0 ? "failed" : "done";
  return { ...read, ...findUnseen(task, result), stack: task.stack, outcome, failures: told };
}

/** The engine counts changes that no webhook and no other resource shows, such as of a provider: then the stack has changed. */
function findUnseen({ stack }: StackTask, result: CommandResult | undefined): Pick<StackReport, "others"> {
  const { webhooks = [], others } = result?.reader.result() ?? {};
  const isSeen =
    others !== undefined || webhooks.some(({ change, drift }) => change !== "same" || drift !== undefined);
  if (isSeen || !saysChanges(result?.error)) return {};
  return { others: [{ name: stack, type: "pulumi:pulumi:Stack", change: "update" }] };
}

/** What concerns the whole run says nothing new beside a failure of one workspace, or of the program. */
function collectFailures(
  task: StackTask,
  own: readonly Failure[],
  result: CommandResult | undefined,
): Failure[] {
  const read = result?.reader.result().failures ?? [];
  const named = [...own, ...read.filter(({ workspace }) => workspace !== undefined)];
  if (named.length > 0 || result?.error === undefined) return named;
  if (task.action === "preview" && task.expectNoChanges && saysChanges(result.error)) return [];
  return read.length > 0 ? read : [{ stack: task.stack, message: describeCommandError(result.error) }];
}
