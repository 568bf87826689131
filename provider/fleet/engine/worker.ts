import { createRedactor } from "../../lib/redact.js";
import { secretsOfUrl } from "../../lib/url.js";
import type { Failure, StackReport } from "../reports.js";
import { describeCommandError } from "./command-error.js";
import { readIndex, removeIndex, writeIndex } from "./index-stack.js";
import type { FromWorker, Job, JobResults, ToWorker } from "./messages.js";
import { listStacks } from "./open-stack.js";
import { captureLines } from "./printed-lines.js";
import { runTask } from "./run-task.js";
import type { StackEvent, StackTask } from "./task.js";

/** A process that runs one job at a time for the fleet's main process, which started it. See workers.ts. */

let stop = new AbortController();
let current: Promise<void> = Promise.resolve();

function tell(message: FromWorker): void {
  // The main process may be gone: then nobody wants to know.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

async function runJob(job: Job, environment: Readonly<Record<string, string>>): Promise<void> {
  stop = new AbortController();
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    tell({ type: "done", result: await startJob(job, stop.signal) });
  } catch (error) {
    tell({ type: "failed", message: describeCommandError(error) });
  } finally {
    for (const name of Object.keys(environment)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}

async function startJob(job: Job, signal: AbortSignal): Promise<JobResults[Job["kind"]]> {
  switch (job.kind) {
    case "task":
      return runCaptured(job.task, signal);
    case "write-index":
      return writeIndex(job.place, job.index, signal);
    case "read-index":
      return readIndex(job.place);
    case "list-stacks":
      return listStacks(job.project);
    case "remove-index":
      return removeIndex(job.place, signal);
  }
}

/** What the program prints becomes notes: the terminal belongs to the main process. */
async function runCaptured(task: StackTask, signal: AbortSignal): Promise<StackReport> {
  const redact = createRedactor(secretsOf(task));
  const printed: string[] = [];
  const release = captureLines((text) => {
    const line = redact(text.trimEnd());
    if (line === "") return;
    printed.push(line);
    tell({ type: "event", event: { type: "note", line } });
  });
  try {
    const clean = (failure: Failure): Failure => ({ ...failure, message: redact(failure.message) });
    const onEvent = (event: StackEvent): void => {
      const shown = event.type === "failure" ? { ...event, failure: clean(event.failure) } : event;
      tell({ type: "event", event: shown });
    };
    const report = await runTask(task, { signal, onEvent });
    const failures = report.failures.map(clean);
    return { ...report, failures, notes: [...report.notes, ...printed] };
  } finally {
    release();
  }
}

/** What the program was given in confidence. */
function secretsOf(task: StackTask): string[] {
  if (task.action !== "preview" && task.action !== "up") return [];
  const ofWorkspaces = task.workspaces.flatMap(({ apiKey = "", webhookUrl = "", baseUrl }) => [
    apiKey,
    ...secretsOfUrl(webhookUrl),
    ...secretsOfUrl(baseUrl),
  ]);
  return [...ofWorkspaces, process.env["APICHAT_API_KEY"] ?? ""];
}

process.on("message", (message: ToWorker) => {
  if (message.type === "stop") stop.abort();
  else current = runJob(message.job, message.environment);
});

// The main process is gone. The engine finishes and stores what is under way; whatever the program has left open is not
// waited for.
process.on("disconnect", () => {
  stop.abort();
  void current.finally(() => process.exit());
});
