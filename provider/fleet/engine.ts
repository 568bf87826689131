import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../lib/files.js";
import { createRedactor, type Redact } from "../lib/redact.js";
import { reportVariables } from "../pulumi/provider-process.js";
import type { ResolvedFleet } from "./definition.js";
import { parseUrn } from "../lib/urn.js";
import { EventReader, type StackEvent } from "./events.js";
import { failureOf } from "./failures.js";
import type { PlacedStack } from "./placement.js";
import { withProgram } from "./project.js";
import { callPulumi, outputOf, type PulumiCall, type PulumiEnd } from "./pulumi.js";
import type { StackReport } from "./reports.js";
import { hasRandomKey, type Webhooks } from "./webhooks.js";
import { outputsProgram, toYaml } from "./yaml-program.js";

export interface StackTask {
  action: "preview" | "up" | "refresh" | "destroy";
  stack: PlacedStack;
  exists: boolean;
  /** The arguments of the stack's webhooks; empty for a command without a program. */
  webhooks: Webhooks;
  /** The name of the rotation; only random keys need it. */
  rotation?: string;
  refresh?: boolean;
  callsPerOrigin: number;
  signal: AbortSignal;
  onEvent: (event: StackEvent) => void;
}

/** Runs the engine on the stacks of a fleet. The fleet's folder contains programs only while commands run. */
export class Engine {
  readonly #fleet: ResolvedFleet;
  readonly #environment: Readonly<Record<string, string>>;
  /** The API key in the environment, for workspaces whose entry has none. An empty variable counts as unset. */
  readonly apiKey: string | undefined;
  /** Whether the engine writes the state after each resource, even in a stack without a random key. */
  readonly #checkpoints: boolean;
  readonly #redact: Redact;

  constructor(fleet: ResolvedFleet, environment: Readonly<Record<string, string>>) {
    const all = { ...process.env, ...environment };
    this.#fleet = fleet;
    this.#environment = {
      ...environment,
      ...reportVariables(),
      PULUMI_ENABLE_STREAMING_JSON_PREVIEW: "true",
    };
    this.apiKey = all["APICHAT_API_KEY"] || undefined;
    const listed = fleet.workspaces.map(({ apiKey }) => apiKey);
    this.#redact = createRedactor([...listed, this.apiKey].filter((key) => key !== undefined));
    this.#checkpoints = !["true", "1"].includes(all["PULUMI_SKIP_CHECKPOINTS"] ?? "true");
  }

  async listStacks(): Promise<string[]> {
    const stacks = JSON.parse(await this.#ask("stack", "ls", "--json")) as { name: string }[];
    // Some backends return organization/project/name.
    return stacks.map(({ name }) => name.split("/").at(-1) ?? name).toSorted();
  }

  async readOutputs(stack: string): Promise<Record<string, unknown>> {
    const outputs = await this.#ask("stack", "output", "--json", "--show-secrets", "--stack", stack);
    return JSON.parse(outputs) as Record<string, unknown>;
  }

  async writeOutputs(stack: string, outputs: Record<string, unknown>, exists: boolean): Promise<void> {
    if (!exists) await this.#init(stack);
    await withProgram(this.#fleet, outputsProgram(outputs), (folder) =>
      this.#ask("up", "--yes", "--skip-preview", "--stack", stack, "--cwd", folder),
    );
  }

  async removeStack(stack: string): Promise<void> {
    await this.#ask("destroy", "--yes", "--skip-preview", "--remove", "--stack", stack);
  }

  async run(task: StackTask): Promise<StackReport> {
    const started = performance.now();
    const { action, exists, signal, onEvent } = task;
    const stack = task.stack.name;
    const reader = new EventReader({ stack, isRefresh: action === "refresh", redact: this.#redact, onEvent });
    let isComplete = false;
    const own = await failureOf(stack, async () => {
      if (action === "destroy") await this.#rejectAfterKilledUp(stack);
      if (!exists) await this.#init(stack);
      const end = await this.#execute(task, reader);
      isComplete = end.code === 0;
      // The stack was created above only because a preview needs one.
      if (action === "preview" && !exists) await this.#ask("stack", "rm", "--yes", "--stack", stack);
      // If the events contain errors, the engine's final output is not needed, because it only repeats them.
      if (reader.result().failures.length === 0) outputOf(end);
    });
    const { failures: reported, ...read } = reader.result();
    const isStopped = signal.aborted && !isComplete;
    const failures = isStopped
      ? reported.filter(({ workspace }) => workspace !== undefined)
      : [...reported, ...own.map((one) => ({ ...one, message: this.#redact(one.message) }))];
    const outcome = isStopped ? "stopped" : failures.length > 0 ? "failed" : "done";
    return { ...read, stack, outcome, seconds: (performance.now() - started) / 1000, failures };
  }

  /** Runs the engine's command. Only `refresh` and `destroy` run without the stack's program. */
  #execute(task: StackTask, reader: EventReader): Promise<PulumiEnd> {
    const { action, stack, webhooks, rotation, signal } = task;
    // A run that is killed loses the random keys that no checkpoint has stored.
    const skips = action !== "preview" && !this.#checkpoints && !hasRandomKey(webhooks);
    const run = (...more: string[]): Promise<PulumiEnd> =>
      callPulumi({
        ...this.#toCall([...argsOf(task), ...more]),
        environment: { ...this.#environment, PULUMI_SKIP_CHECKPOINTS: String(skips) },
        signal,
        onEvent: (event) => reader.read(event),
      });
    if (action === "refresh" || action === "destroy") return run();
    return withProgram(this.#fleet, toYaml(webhooks, rotation), async (folder) => {
      if (action === "preview") return run("--cwd", folder);
      const end = await this.#marked(stack.name, () => run("--cwd", folder));
      // An earlier run that was killed leaves pending creates only if it wrote checkpoints.
      if (end.code === 0 && !skips) await this.#forgetPending(stack.name);
      return end;
    });
  }

  #toCall(args: readonly string[]): PulumiCall {
    return { args, folder: this.#fleet.folder, environment: this.#environment };
  }

  async #ask(...args: string[]): Promise<string> {
    return outputOf(await callPulumi(this.#toCall(args)));
  }

  async #init(stack: string): Promise<void> {
    const { secretsProvider } = this.#fleet;
    const provider = secretsProvider === undefined ? [] : ["--secrets-provider", secretsProvider];
    await this.#ask("stack", "init", "--no-select", ...provider, "--stack", stack);
  }

  /** The path of a file that exists while an `up` of the stack runs, and stays if the `up` is killed. */
  #markOf(stack: string): string {
    return join(this.#fleet.folder, `${stack}.unfinished`);
  }

  /** Runs an `up`. The marker stays if the engine is killed, or if it was there before and the `up` fails. */
  async #marked(stack: string, up: () => Promise<PulumiEnd>): Promise<PulumiEnd> {
    const mark = this.#markOf(stack);
    const wasKilled = existsSync(mark);
    await writePrivateFile(mark, "");
    const end = await up();
    if (end.code === 0 || (end.code !== null && !wasKilled)) await rm(mark, { force: true });
    return end;
  }

  /** Clears a killed run's pending creates once an `up` has put them in the state: later runs would warn of them. */
  async #forgetPending(stack: string): Promise<void> {
    if ((await this.#findPending(stack)).length === 0) return;
    await this.#ask("refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--stack", stack);
  }

  /** Throws if a killed run may have created webhooks that the state lacks: a destroy would leave them registered. */
  async #rejectAfterKilledUp(stack: string): Promise<void> {
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
    return [...new Set(creating.map(({ resource }) => parseUrn(resource.urn).name))];
  }
}

function argsOf({ action, stack, refresh = false, callsPerOrigin }: StackTask): string[] {
  const yes = ["--yes", "--skip-preview"];
  const options = {
    preview: [`--refresh=${refresh}`],
    up: [...yes, `--refresh=${refresh}`, "--continue-on-error"],
    refresh: yes,
    destroy: [...yes, "--remove", "--continue-on-error"],
  };
  const parallel = ["--parallel", String(callsPerOrigin)];
  return [action, "--json", "--stack", stack.name, ...options[action], ...parallel];
}
