import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../lib/files.js";
import { createRedactor, type Redact } from "../lib/redact.js";
import { reportVariables } from "../lib/provider-process.js";
import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import type { ResolvedFleet } from "./definition.js";
import { EventReader, type StackEvent } from "./events.js";
import type { PlacedStack } from "./placement.js";
import { prepareProject, withProgram } from "./project.js";
import { askPulumi, callPulumi, outputOf, reasonOf, type PulumiEnd } from "./pulumi.js";
import { failureOf } from "./failures.js";
import type { Failure, StackReport } from "./reports.js";
import { countRandomKeys, webhooksOf, type Webhooks } from "./webhooks.js";
import { outputsProgram, toYaml } from "./yaml-program.js";

/** One command of the engine for one stack of a fleet. */
export interface StackTask {
  action: "preview" | "up" | "refresh" | "destroy";
  stack: PlacedStack;
  rotation?: string;
  /** Asks the service first. */
  refresh?: boolean;
  /** For `preview`: a change is no failure, and in the report. */
  expectNoChanges?: boolean;
}

export interface TaskOptions {
  signal: AbortSignal;
  onEvent: (event: StackEvent) => void;
  /** How many calls to one origin the stack may have in progress. */
  callsPerOrigin: number;
  /** The arguments of the stack's webhooks; of other stacks too. */
  webhooks: Webhooks;
}

/** What `preview --expect-no-changes` ends with if there are changes. */
const CHANGES_FOUND = 7;

/** The stacks of a fleet, as the engine holds them. It works in the fleet's folder, where only running commands have programs. */
export class Engine {
  readonly #fleet: ResolvedFleet;
  readonly #environment: Readonly<Record<string, string>>;
  /** The API key of the environment, for workspaces whose listing has none. An empty variable counts as none. */
  readonly apiKey: string | undefined;
  /** Whether states are written after each resource, even without a random key. */
  readonly #checkpoints: boolean;
  /** Removes the API keys from what the engine prints. */
  readonly #redact: Redact;

  constructor(fleet: ResolvedFleet, environment: Readonly<Record<string, string>>) {
    const all = { ...process.env, ...environment };
    this.#fleet = fleet;
    this.#environment = environment;
    this.apiKey = all["APICHAT_API_KEY"] || undefined;
    const listed = fleet.workspaces.map(({ apiKey }) => apiKey);
    this.#redact = createRedactor([...listed, this.apiKey].filter((key) => key !== undefined));
    this.#checkpoints = !["true", "1"].includes(all["PULUMI_SKIP_CHECKPOINTS"] ?? "true");
  }

  /** Writes the project that the engine runs. */
  prepare(): Promise<void> {
    return prepareProject(this.#fleet);
  }

  /** The names of the project's stacks in the backend. */
  async listStacks(): Promise<string[]> {
    const stacks = JSON.parse(await this.#ask("stack", "ls", "--json")) as { name: string }[];
    // Some backends give organization/project/name.
    return stacks.map(({ name }) => name.split("/").at(-1) ?? name).toSorted();
  }

  /** The outputs of a stack that exists. */
  async readOutputs(stack: string): Promise<Record<string, unknown>> {
    return JSON.parse(
      await this.#ask("stack", "output", "--json", "--show-secrets", "--stack", stack),
    ) as Record<string, unknown>;
  }

  /** Gives a stack without resources other outputs; makes it if it does not exist. */
  async writeOutputs(stack: string, outputs: Record<string, unknown>, exists: boolean): Promise<void> {
    if (!exists) await this.#init(stack);
    const args = ["up", "--yes", "--skip-preview", "--stack", stack];
    const end = await withProgram(this.#fleet, outputsProgram(outputs), (folder) =>
      callPulumi({ args, folder, environment: this.#environment }),
    );
    outputOf(end, { args, folder: this.#fleet.folder });
  }

  /** Removes a stack with all that it holds. */
  async removeStack(stack: string): Promise<void> {
    await this.#ask("destroy", "--yes", "--skip-preview", "--remove", "--stack", stack);
  }

  /** Runs one task to its report: what goes wrong is in it. */
  async run(task: StackTask, exists: boolean, options: TaskOptions): Promise<StackReport> {
    const started = performance.now();
    const { name } = task.stack;
    let ran: CommandResult | undefined;
    const failure = await failureOf(name, async () => {
      if (task.action === "destroy") await this.#refuseAfterKilledUp(name);
      if (!exists) await this.#init(name);
      ran = await this.#command(task, options);
      await this.#finish(task, exists, ran);
    });
    const isStopped = options.signal.aborted && !isComplete(ran);
    const hidden = failure && { ...failure, message: this.#redact(failure.message) };
    const report = toReport(name, ran, { failure: hidden, isStopped });
    return { ...report, seconds: (performance.now() - started) / 1000 };
  }

  async #finish(
    { action, stack: { name }, refresh }: StackTask,
    exists: boolean,
    ran: CommandResult,
  ): Promise<void> {
    if (action === "up" && ran.code === 0) await this.#forgetPending(name, refresh, ran.reader);
    // A preview needs a stack, and is to leave none behind.
    if (action === "preview" && !exists) await this.#ask("stack", "rm", "--yes", "--stack", name);
  }

  async #command(
    task: StackTask,
    { signal, onEvent, callsPerOrigin, webhooks }: TaskOptions,
  ): Promise<CommandResult> {
    const { action, stack, rotation } = task;
    const own = webhooksOf(stack, webhooks);
    const reader = new EventReader({
      stack: stack.name,
      isRefresh: action === "refresh",
      ...(rotation === undefined ? {} : { rotation }),
      onEvent,
    });
    // A run that is killed loses the random keys that no checkpoint has stored.
    const skipsCheckpoints = action !== "preview" && !this.#checkpoints && countRandomKeys(own) === 0;
    const call = {
      args: [...argsOf(task), "--parallel", String(callsPerOrigin)],
      folder: this.#fleet.folder,
    };
    const runIn = (folder: string): Promise<PulumiEnd> =>
      callPulumi({
        ...call,
        folder,
        environment: {
          ...this.#environment,
          ...reportVariables(),
          PULUMI_ENABLE_STREAMING_JSON_PREVIEW: "true",
          PULUMI_SKIP_CHECKPOINTS: String(skipsCheckpoints),
        },
        signal,
        onEvent: (event) => reader.read(this.#withoutKeys(event)),
      });
    const run = (): Promise<PulumiEnd> => withProgram(this.#fleet, toYaml(own, rotation), runIn);
    // The engine refreshes and destroys without the program.
    const runs = {
      preview: run,
      up: () => this.#marked(stack.name, run),
      refresh: () => runIn(call.folder),
      destroy: () => runIn(call.folder),
    };
    const end = await runs[action]();
    return { code: end.code, reason: this.#redact(reasonOf(end, call)), reader };
  }

  #withoutKeys(event: EngineEvent): EngineEvent {
    const { diagnosticEvent } = event;
    if (diagnosticEvent === undefined) return event;
    return {
      ...event,
      diagnosticEvent: { ...diagnosticEvent, message: this.#redact(diagnosticEvent.message) },
    };
  }

  #ask(...args: string[]): Promise<string> {
    return askPulumi({ args, folder: this.#fleet.folder, environment: this.#environment });
  }

  async #init(stack: string): Promise<void> {
    const { secretsProvider } = this.#fleet;
    const provider = secretsProvider === undefined ? [] : ["--secrets-provider", secretsProvider];
    await this.#ask("stack", "init", "--no-select", ...provider, "--stack", stack);
  }

  /** There while an `up` of the stack runs, and after one that was killed. */
  #markOf(stack: string): string {
    return join(this.#fleet.folder, `${stack}.unfinished`);
  }

  /** Runs an `up`. Its marker stays if the engine was killed, or if the `up` failed and an earlier marker was already there. */
  async #marked(stack: string, up: () => Promise<PulumiEnd>): Promise<PulumiEnd> {
    const mark = this.#markOf(stack);
    const wasKilled = existsSync(mark);
    await writePrivateFile(mark, "");
    const end = await up();
    if (end.code === 0 || (end.code !== null && !wasKilled)) await rm(mark, { force: true });
    return end;
  }

  /** What a killed run was creating is in the state by now; without this, every later run warns of it. */
  async #forgetPending(stack: string, refresh = false, { hasPending }: EventReader): Promise<void> {
    // The engine warns of it, but not if it refreshes first.
    if (!hasPending && !(refresh && (await this.#findPending(stack)).length > 0)) return;
    await this.#ask("refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--stack", stack);
  }

  /** Throws if a killed run may have created what the state does not hold: a destroy would leave it behind. An `up` adopts it. */
  async #refuseAfterKilledUp(stack: string): Promise<void> {
    const pending = await this.#findPending(stack);
    if (pending.length === 0 && !existsSync(this.#markOf(stack))) return;
    const what =
      pending.length > 0 ? `while it created ${pending.join(", ")}` : "on this machine or is still running";
    throw new Error(
      `an earlier up was killed ${what}, so nothing was removed: run up first, which adopts what was created`,
    );
  }

  async #findPending(stack: string): Promise<string[]> {
    const { deployment } = JSON.parse(await this.#ask("stack", "export", "--stack", stack)) as {
      deployment: { pending_operations?: { type: string; resource: { urn: string } }[] };
    };
    const creating = (deployment.pending_operations ?? []).filter(({ type }) => type === "creating");
    return [...new Set(creating.map(({ resource }) => resource.urn.split("::").slice(3).join("::")))];
  }
}

function argsOf({ action, stack, refresh = false, expectNoChanges = false }: StackTask): string[] {
  const yes = ["--yes", "--skip-preview"];
  const options = {
    preview: [`--refresh=${refresh}`, ...(expectNoChanges ? ["--expect-no-changes"] : [])],
    up: [...yes, `--refresh=${refresh}`, "--continue-on-error"],
    refresh: yes,
    destroy: [...yes, "--remove", "--continue-on-error"],
  };
  return [action, "--json", "--stack", stack.name, ...options[action]];
}

/** One command of the engine: what it reported, and how it ended. */
interface CommandResult extends Pick<PulumiEnd, "code"> {
  /** Why it failed, if it did. */
  reason: string;
  reader: EventReader;
}

const isComplete = (ran: CommandResult | undefined): boolean =>
  ran?.code === 0 || ran?.code === CHANGES_FOUND;

function toReport(
  stack: string,
  ran: CommandResult | undefined,
  { failure, isStopped }: { failure: Failure | undefined; isStopped: boolean },
): StackReport {
  const read = ran?.reader.result() ?? { webhooks: [], notes: [], failures: [] };
  const all = [...failuresOf(stack, ran, read.failures), ...(failure === undefined ? [] : [failure])];
  const failures = isStopped ? all.filter(({ workspace }) => workspace !== undefined) : all;
  const outcome = isStopped ? "stopped" : failures.length > 0 ? "failed" : "done";
  return { ...read, ...findUnseen(stack, ran, read), stack, outcome, seconds: 0, failures };
}

/** Errors of the whole run are left out if a workspace has failed: they only repeat it. */
function failuresOf(stack: string, ran: CommandResult | undefined, read: Failure[]): Failure[] {
  if (read.some(({ workspace }) => workspace !== undefined)) return read;
  if (ran === undefined || isComplete(ran)) return [];
  return read.length > 0 ? read : [{ stack, message: ran.reason }];
}

/**
 * The engine also counts changes that appear on no resource here, such as those of a provider. They are reported as a change of
 * the stack.
 */
function findUnseen(
  stack: string,
  ran: CommandResult | undefined,
  { webhooks, others }: Pick<StackReport, "webhooks" | "others">,
): Pick<StackReport, "others"> {
  const isSeen =
    others !== undefined || webhooks.some(({ change, drift }) => change !== "same" || drift !== undefined);
  if (isSeen || ran?.code !== CHANGES_FOUND) return {};
  return { others: [{ name: stack, type: "pulumi:pulumi:Stack", change: "update" }] };
}
