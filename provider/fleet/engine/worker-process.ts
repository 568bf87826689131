import { fork, type ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { FromWorker, Job, JobResults, ToWorker } from "./messages.js";
import type { StackEvent } from "./task.js";

const PROGRAM = fileURLToPath(new URL("./worker.js", import.meta.url));

/** How long an engine may take to end after it was asked to, in milliseconds. */
const END_MS = 10_000;

/** How long what a worker printed last may take to arrive, in milliseconds. */
const DRAIN_MS = 200;

/** How much of what a worker printed is kept, in case that it crashes. */
const KEPT_CHARACTERS = 2_000;

export interface JobOptions {
  signal?: AbortSignal;
  onEvent?: (event: StackEvent) => void;
  environment?: Readonly<Record<string, string>>;
}

/** The worker ended in the middle of a job. */
class WorkerEndedError extends Error {}

/** A worker process. It runs one job at a time. */
export interface WorkerProcess {
  /** Rejects with {@link WorkerEndedError} if the process ends, and with the job's own failure. */
  run<K extends Job["kind"]>(job: Extract<Job, { kind: K }>, options?: JobOptions): Promise<JobResults[K]>;
  isAlive(): boolean;
  /** Asks it to end, and ends it if it does not. */
  close(): Promise<void>;
  /**
   * Ends it at once, and its engine without waiting for what is in progress. At its second SIGINT the engine ends its plugins;
   * after a SIGKILL its language host would live on for minutes.
   */
  kill(): void;
}

/** Starts a worker in a process group of its own: a Ctrl-C of the terminal does not reach it. */
export function startWorker(environment: Readonly<Record<string, string>>): WorkerProcess {
  const child = fork(PROGRAM, {
    detached: true,
    env: { ...process.env, ...environment },
    // Warnings of promises that a failing program leaves are no help.
    execArgv: [...inheritedFlags(process.execArgv), "--no-warnings"],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const tail = keepTail(child);
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) =>
      resolve(`the process for the program could not be started: ${error.message}`),
    );
    // Not "close", which never comes after a disconnect from this side.
    child.once(
      "exit",
      (code, signal) => void tail().then((text) => resolve(describeEnd({ code, signal, text }))),
    );
  });
  let isOver = false;
  const markEnd = async (): Promise<void> => {
    await ended;
    isOver = true;
    // An engine that it leaves behind finishes what is under way.
    signalGroup(child, "SIGINT");
  };
  void markEnd();

  return {
    run: (job, options = {}) => runJob(child, { job, ended, ...options }) as Promise<never>,
    isAlive: () => !isOver && child.connected,
    close: async () => {
      if (child.connected) child.disconnect();
      const timer = setTimeout(() => signalGroup(child, "SIGKILL"), END_MS);
      await ended;
      clearTimeout(timer);
    },
    kill: () => signalGroup(child, "SIGINT"),
  };
}

interface RunningJob extends JobOptions {
  job: Job;
  ended: Promise<string>;
}

async function runJob(child: ChildProcess, running: RunningJob): Promise<unknown> {
  const { job, ended, signal, onEvent, environment = {} } = running;
  const send = (message: ToWorker): void => {
    // A worker that has ended says so by itself.
    if (child.connected) child.send(message, () => undefined);
  };
  const stop = (): void => send({ type: "stop" });
  const over = new AbortController();
  try {
    send({ type: "job", job, environment });
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    return await Promise.race([readResult(child, over.signal, onEvent), failWhenEnded(ended)]);
  } finally {
    signal?.removeEventListener("abort", stop);
    over.abort();
  }
}

function readResult(
  child: ChildProcess,
  over: AbortSignal,
  onEvent: JobOptions["onEvent"],
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const read = (message: FromWorker): void => {
      if (message.type === "event") onEvent?.(message.event);
      else if (message.type === "done") resolve(message.result);
      else reject(new Error(message.message));
    };
    child.on("message", read);
    over.addEventListener("abort", () => child.off("message", read), { once: true });
  });
}

async function failWhenEnded(ended: Promise<string>): Promise<never> {
  throw new WorkerEndedError(await ended);
}

/** Gives the end of what the process printed, once it has ended. */
function keepTail({ stdout, stderr }: ChildProcess): () => Promise<string> {
  let kept = "";
  const streams = [stdout, stderr].filter((stream) => stream !== null);
  for (const stream of streams) {
    stream.on("data", (chunk: Buffer) => void (kept = (kept + chunk.toString()).slice(-KEPT_CHARACTERS)));
  }
  const drained = Promise.all(
    streams.map((stream) => new Promise((resolve) => stream.once("close", resolve))),
  );
  // What the program itself has started may hold them open.
  return async () => {
    await Promise.race([drained, sleep(DRAIN_MS)]);
    return kept;
  };
}

function describeEnd(end: { code: number | null; signal: NodeJS.Signals | null; text: string }): string {
  const how = end.signal === null ? `with exit code ${end.code}` : `by ${end.signal}`;
  const lines = end.text.split("\n").filter((line) => /\w/.test(line));
  const why = lines.find((line) => /error/i.test(line)) ?? lines.at(-1);
  return `the process that ran the program ended ${how}${why === undefined ? "" : `: ${why.trim()}`}`;
}

/** The worker and the engine; the engine's plugins are in groups of their own, and end with it. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  if (process.platform === "win32") return void child.kill(signal);
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * The flags of node that a worker takes over: it neither watches files nor tests. A debugger's port cannot be shared; and with
 * the program text of `node -e` a worker would be one more main process, which starts workers, without end.
 */
function inheritedFlags(flags: readonly string[]): string[] {
  const text = flags.findIndex((flag) => /^(-e|-p|-pe|--eval|--print)$/.test(flag));
  const kept = text < 0 ? flags : flags.toSpliced(text, 2);
  return kept.filter((flag) => !/^--(inspect|input-type|watch|test|eval=|print=)/.test(flag));
}
