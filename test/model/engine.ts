import { webhookLifecycle } from "../../provider/webhook/lifecycle.js";
import { memoryLog } from "../../provider/webhook/run-log.js";
import { Run } from "../../provider/webhook/run.js";

type Values = Record<string, unknown>;

/** A `webhookLifecycle` as the engine sees it: its methods take and return untyped values. */
interface Provider {
  check(olds: Values, news: Values): Promise<{ inputs: Values; failures: object[] }>;
  diff(id: string, olds: Values, news: Values): Promise<{ changes: boolean }>;
  create(inputs: Values): Promise<{ id: string; outs: Values }>;
  read(id: string, props: Values): Promise<{ id?: string; props?: Values; inputs?: Values }>;
  update(id: string, olds: Values, news: Values): Promise<{ outs: Values }>;
  delete(id: string, props: Values): Promise<void>;
}

/** The dynamic provider, which knows only a resource's name, and two plugin providers, which know its URN. */
export const PROVIDERS = ["dynamic", "a", "b"] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** Thrown by a call to a killed process. */
export class Gone extends Error {}

/**
 * The provider processes of one run. They share the run's log. A process starts at the first call to it, and
 * is never restarted. Here the log is in memory; in real runs it is a file, which has its own tests.
 */
class Processes {
  readonly #log = memoryLog();
  readonly #running = new Map<ProviderName, Run>();
  readonly #killed = new Set<ProviderName>();

  kill(provider: ProviderName): void {
    this.#killed.add(provider);
  }

  /** Returns the methods for one resource. Throws {@link Gone} if its provider's process was killed. */
  get({ name, provider }: { name: string; provider: ProviderName }): Provider {
    if (this.#killed.has(provider)) throw new Gone("error reading from server: EOF");
    const run = this.#running.get(provider) ?? new Run(this.#log);
    this.#running.set(provider, run);
    const urn = provider === "dynamic" ? {} : { urn: `urn:pulumi:dev::test::apichat:index:Webhook::${name}` };
    return webhookLifecycle({ run, ...urn }) as unknown as Provider;
  }
}

/** A resource that a program declares. */
export interface Goal {
  name: string;
  /** Its earlier names. */
  aliases: readonly string[];
  provider: ProviderName;
  args: Values;
}

/** A resource in the state, as the engine stores it. */
export interface Stored {
  name: string;
  provider: ProviderName;
  id: string;
  inputs: Values;
  outputs: Values;
  /** A partial resource, which the next `up` updates even if diff finds no change. */
  hasInitErrors: boolean;
  /** A replaced resource, which is deleted at the end of this `up` or the next one. */
  isPendingDelete: boolean;
}

type Method = keyof Provider;

/** A resource, and the process that handles calls for it. */
type Target = Pick<Stored, "name" | "provider">;

export interface Failure {
  name: string;
  method: Method;
  /** The last argument of the call: the resource's inputs or outputs. */
  props: Values;
  error: unknown;
}

/**
 * Kills a run just before or just after one of the calls that may write, so that the call's result is not stored.
 * With `between`, the result is stored, then only the call's provider process is killed. `calls` is its number.
 */
export interface Kill {
  calls: number;
  when: "before" | "after" | "between";
}

interface UpOptions {
  kill?: Kill;
  /** The names of the resources to replace. */
  replace?: readonly string[];
  refresh?: boolean;
  /** Checks all resources before the first change. Default: each just before its change. The engine may do either. */
  checksFirst?: boolean;
  /** Whether the steps of several resources run at once. */
  isParallel?: boolean;
}

export interface Outcome {
  ok: boolean;
  failures: readonly Failure[];
  /** The call at which the run is killed. */
  killed: Omit<Failure, "error"> | undefined;
}

/** Ends a step whose failure is already recorded. */
class Failed extends Error {}

/** Ends the run. */
class Killed extends Error {}

/**
 * Makes the same calls as `step_generator.go` and `step.go` of engine 3.259, and changes the state in the same
 * way. Every value is converted to JSON and back, as in the real engine's messages and state file.
 */
export class Engine {
  state: Stored[] = [];
  // State of the run in progress.
  #processes = new Processes();
  #failures: Failure[] = [];
  #kill: Kill | undefined;
  #killed: Outcome["killed"];
  #writes = 0;

  up(goals: readonly Goal[], { refresh, kill, ...options }: UpOptions): Promise<Outcome> {
    return this.#run(kill, async () => {
      if (refresh && !(await this.#refreshAll())) return;
      if (!(await this.#registerAll(goals, options))) return;
      const isDropped = ({ name }: Stored): boolean => goals.every((goal) => goal.name !== name);
      await this.#deleteAll(this.state.filter((stored) => stored.isPendingDelete || isDropped(stored)));
    });
  }

  preview(goals: readonly Goal[]): Promise<Outcome> {
    return this.#run(undefined, async () => {
      for (const goal of goals) await this.#attempt(() => this.#plan(goal, []));
    });
  }

  refresh(): Promise<Outcome> {
    return this.#run(undefined, () => this.#refreshAll());
  }

  destroy(kill?: Kill): Promise<Outcome> {
    return this.#run(kill, () => this.#deleteAll(this.state));
  }

  /** `pulumi state delete`: calls no provider. A pending delete can have the same name as another resource. */
  forget(name: string, id: string): void {
    this.state = this.state.filter((stored) => stored.name !== name || stored.id !== id);
  }

  /** Runs one command with its own provider processes. */
  async #run(kill: Kill | undefined, work: () => Promise<unknown>): Promise<Outcome> {
    this.#failures = [];
    this.#kill = kill;
    this.#killed = undefined;
    this.#writes = 0;
    this.#processes = new Processes();
    await work().catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
    const [failures, killed] = [this.#failures, this.#killed];
    return { ok: failures.length === 0 && killed === undefined, failures, killed };
  }

  async #registerAll(
    goals: readonly Goal[],
    { replace = [], checksFirst, isParallel }: Pick<UpOptions, "replace" | "checksFirst" | "isParallel">,
  ): Promise<boolean> {
    const steps: (() => Promise<void>)[] = [];
    const running: Promise<unknown>[] = [];
    const start = async (step: () => Promise<void>): Promise<void> => {
      const run = this.#attempt(step);
      if (isParallel) running.push(run);
      else await run;
    };
    for (const goal of goals) {
      await this.#attempt(async () => {
        const step = await this.#plan(goal, replace);
        if (checksFirst) steps.push(step);
        else await start(step);
      });
      // A failure ends the program; calls in progress continue.
      if (this.#failures.length > 0) break;
    }
    for (const step of steps) await start(step);
    await Promise.all(running);
    return this.#failures.length === 0;
  }

  /** Checks and diffs one resource, and returns the step that makes its change. */
  async #plan(goal: Goal, replace: readonly string[]): Promise<() => Promise<void>> {
    const { name, aliases, provider } = goal;
    const live = this.state.filter(({ isPendingDelete }) => !isPendingDelete);
    const old =
      live.find((stored) => stored.name === name) ?? live.find((stored) => aliases.includes(stored.name));
    const isTarget = replace.includes(name);
    const inputs = await this.#check(goal, isTarget ? undefined : old);
    if (!old) return () => this.#create(goal, inputs);
    if (isTarget) return () => this.#replace(old, goal, inputs);
    const { changes } = await this.#call(goal, "diff", old.id, old.outputs, inputs);
    if (!changes && !old.hasInitErrors) return async () => this.#put(old, { ...old, name, provider, inputs });
    return async () => {
      const { outs, hasInitErrors } = await this.#write(goal, "update", old.id, old.outputs, inputs);
      this.#put(old, { ...old, name, provider, inputs, outputs: outs, hasInitErrors });
    };
  }

  async #create(goal: Goal, inputs: Values): Promise<void> {
    const { name, provider } = goal;
    const { id, outs, hasInitErrors } = await this.#write(goal, "create", inputs);
    this.#put(undefined, {
      name,
      provider,
      id,
      inputs,
      outputs: outs,
      hasInitErrors,
      isPendingDelete: false,
    });
  }

  async #replace(old: Stored, goal: Goal, inputs: Values): Promise<void> {
    await this.#create(goal, inputs);
    old.isPendingDelete = true;
  }

  async #deleteAll(resources: readonly Stored[]): Promise<void> {
    for (const stored of resources.toReversed()) {
      const { id, outputs } = stored;
      if (await this.#attempt(() => this.#write(stored, "delete", id, outputs))) this.#put(stored);
    }
  }

  async #refreshAll(): Promise<boolean> {
    for (const stored of this.state) {
      await this.#attempt(async () => {
        const { inputs: olds } = stored;
        const { id, props = {}, inputs = olds } = await this.#call(stored, "read", stored.id, stored.outputs);
        if (id === undefined) return this.#put(stored);
        await this.#call(stored, "diff", id, props, olds);
        this.#put(stored, { ...stored, id, inputs, outputs: props, hasInitErrors: false });
      });
    }
    return this.#failures.length === 0;
  }

  /** Replaces, appends or drops a resource in the state. */
  #put(old: Stored | undefined, stored?: Stored): void {
    const rest = old ? this.state : [...this.state, undefined];
    this.state = rest.flatMap((other) => (other === old ? (stored ?? []) : (other ?? [])));
  }

  /** Runs a step; returns whether it succeeded. */
  async #attempt(work: () => Promise<unknown>): Promise<boolean> {
    return work().then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Failed)) throw error;
        return false;
      },
    );
  }

  async #check(goal: Goal, old?: Stored): Promise<Values> {
    const { name, args } = goal;
    const { inputs, failures } = await this.#call(goal, "check", old?.inputs ?? {}, { name, ...args });
    this.#failures.push(...failures.map((error) => ({ name, method: "check" as const, props: args, error })));
    if (failures.length > 0) throw new Failed();
    return inputs;
  }

  async #call<M extends Method>(
    target: Target,
    method: M,
    ...args: Parameters<Provider[M]>
  ): Promise<Awaited<ReturnType<Provider[M]>>> {
    try {
      const work = this.#processes.get(target)[method] as (...given: unknown[]) => ReturnType<Provider[M]>;
      return copy(await work(...copy(args)));
    } catch (error) {
      this.#failures.push({ name: target.name, method, props: args.at(-1) as Values, error });
      throw new Failed("", { cause: error });
    }
  }

  /** Makes a call that may write. If its error has an `id`, returns a partial resource to store. */
  async #write(
    target: Target,
    method: "create" | "update" | "delete",
    ...args: [Values] | [string, Values] | [string, Values, Values]
  ): Promise<{ id: string; outs: Values; hasInitErrors: boolean }> {
    this.#writes += 1;
    const killAt = this.#kill?.calls === this.#writes ? this.#kill.when : undefined;
    if (killAt === "before" || killAt === "after")
      this.#killed = { name: target.name, method, props: args.at(-1) as Values };
    if (killAt === "before") throw new Killed();
    const written = await this.#call(target, method, ...(args as Parameters<Provider["update"]>)).then(
      (result) => ({ id: "", outs: {}, ...result, hasInitErrors: false }),
      (failed: Failed) => {
        const { id, properties = {} } = failed.cause as { id?: string; properties?: Values };
        return id ? { id, outs: copy(properties), hasInitErrors: true } : failed;
      },
    );
    if (killAt === "after") throw new Killed();
    if (killAt === "between") this.#processes.kill(target.provider);
    if (written instanceof Failed) throw written;
    return written;
  }
}

const copy = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));
