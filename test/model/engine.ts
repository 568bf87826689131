import type { Provider, Values } from "./provider-process.js";

type Config = Record<string, string>;

/** A resource as a program declares it. */
export interface Goal {
  name: string;
  /** Names that it had before. */
  aliases: readonly string[];
  args: Values;
}

/** A resource in the state, as the engine stores it. */
export interface Stored {
  name: string;
  id: string;
  inputs: Values;
  outputs: Values;
  /** Partly done: the next `up` updates it, whatever diff says. */
  hasInitErrors: boolean;
  /** Deleted by a replacement whose create has failed: only a create follows, and nothing ever refreshes or deletes it. */
  isPendingReplacement: boolean;
}

type Method = Exclude<keyof Provider, "configure">;

export interface Failure {
  name: string;
  method: Method;
  error: unknown;
}

/** Kills a run before or after so many calls that may write. What the last of them returned is lost. */
export interface Kill {
  calls: number;
  when: "before" | "after";
}

export interface RunOptions {
  config?: Config;
  kill?: Kill;
}

export interface UpOptions extends RunOptions {
  /** The names to replace. */
  replace?: readonly string[];
  refresh?: boolean;
  /** Every resource is checked before the first is touched; otherwise one resource after the other. The engine does both. */
  checksFirst?: boolean;
}

export interface Outcome {
  ok: boolean;
  failures: readonly Failure[];
  /** The call at which the run was killed. */
  killed: Omit<Failure, "error"> | undefined;
}

/**
 * Plays the engine's part: the order of calls, what they are given, and what becomes of the state, as `step_generator.go` and
 * `step.go` of the engine 3.259 do it.
 */
export class Engine {
  state: Stored[] = [];
  /** refresh and destroy run without the program, so with the configuration of the last `up`. */
  lastConfig: Config = {};
  readonly #startProvider: () => Provider;

  constructor(startProvider: () => Provider) {
    this.#startProvider = startProvider;
  }

  up(goals: readonly Goal[], { config = {}, refresh = false, ...options }: UpOptions): Promise<Outcome> {
    return this.#run({ ...options, config: refresh ? this.lastConfig : config }, async (run) => {
      if (refresh && !(await this.#refreshAll(run))) return;
      // Another configuration means another default provider, which is another process.
      if (refresh && JSON.stringify(config) !== JSON.stringify(this.lastConfig)) run.start(config);
      this.lastConfig = config;
      if (!(await this.#registerAll(run, goals, options))) return;
      await this.#deleteAll(
        run,
        this.state.filter((stored) => goals.every(({ name }) => name !== stored.name)),
      );
    });
  }

  preview(goals: readonly Goal[], { config = {} }: RunOptions): Promise<Outcome> {
    return this.#run({ config }, async (run) => {
      for (const goal of goals) await run.attempt(() => this.#plan(run, goal, []));
    });
  }

  refresh(): Promise<Outcome> {
    return this.#run({ config: this.lastConfig }, (run) => this.#refreshAll(run));
  }

  destroy(options: RunOptions): Promise<Outcome> {
    return this.#run({ ...options, config: this.lastConfig }, (run) => this.#deleteAll(run, this.state));
  }

  /** `pulumi state delete`: nobody is asked. */
  forget(name: string): void {
    this.state = this.state.filter((stored) => stored.name !== name);
  }

  async #run(
    options: RunOptions & { config: Config },
    work: (run: Run) => Promise<unknown>,
  ): Promise<Outcome> {
    const run = new Run(this.#startProvider, options);
    try {
      await work(run);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
    const { failures, killed } = run;
    return { ok: failures.length === 0 && killed === undefined, failures, killed };
  }

  async #registerAll(
    run: Run,
    goals: readonly Goal[],
    { replace = [], checksFirst }: UpOptions,
  ): Promise<boolean> {
    const steps: (() => Promise<void>)[] = [];
    for (const goal of goals) {
      await run.attempt(async () => {
        const step = await this.#plan(run, goal, replace);
        if (checksFirst) steps.push(step);
        else await step();
      });
      // A failure ends the program; what is on its way already goes on.
      if (run.failures.length > 0) break;
    }
    for (const step of steps) await run.attempt(step);
    return run.failures.length === 0;
  }

  /** Checks and compares one resource, and gives the step that follows. */
  async #plan(run: Run, goal: Goal, replace: readonly string[]): Promise<() => Promise<void>> {
    const { name, aliases } = goal;
    const old =
      this.state.find((stored) => stored.name === name) ??
      this.state.find((stored) => aliases.includes(stored.name));
    const isTarget = replace.includes(name);
    const inputs = await run.check(goal, isTarget ? undefined : old);
    if (!old) return () => this.#create(run, name, inputs);
    if (isTarget) return () => this.#replace(run, old, name, inputs);
    const { changes, replaces } = await run.call(name, "diff", old.id, old.outputs, inputs);
    if (old.isPendingReplacement || replaces.length > 0) {
      const anew = await run.check(goal);
      return () => this.#replace(run, old, name, anew);
    }
    if (changes || old.hasInitErrors) return () => this.#update(run, old, name, inputs);
    return async () => this.#put(old, { ...old, name, inputs });
  }

  async #create(run: Run, name: string, inputs: Values, old?: Stored): Promise<void> {
    const { id, outs, hasInitErrors } = await run.write(name, "create", inputs);
    this.#put(old, { name, id, inputs, outputs: outs, hasInitErrors, isPendingReplacement: false });
  }

  async #update(run: Run, old: Stored, name: string, inputs: Values): Promise<void> {
    const { outs, hasInitErrors } = await run.write(name, "update", old.id, old.outputs, inputs);
    this.#put(old, { ...old, name, inputs, outputs: outs, hasInitErrors });
  }

  async #replace(run: Run, old: Stored, name: string, inputs: Values): Promise<void> {
    if (!old.isPendingReplacement) await run.write(old.name, "delete", old.id, old.outputs);
    old.isPendingReplacement = true;
    await this.#create(run, name, inputs, old);
  }

  async #deleteAll(run: Run, resources: readonly Stored[]): Promise<void> {
    for (const stored of resources.toReversed()) {
      const { name, id, outputs, isPendingReplacement } = stored;
      const isGone =
        isPendingReplacement || (await run.attempt(() => run.write(name, "delete", id, outputs)));
      if (isGone) this.#drop(stored);
    }
  }

  async #refreshAll(run: Run): Promise<boolean> {
    for (const stored of this.state.filter(({ isPendingReplacement }) => !isPendingReplacement)) {
      await run.attempt(async () => {
        const { name, inputs: olds } = stored;
        const { id, props = {}, inputs = olds } = await run.call(name, "read", stored.id, stored.outputs);
        if (id === undefined) return this.#drop(stored);
        await run.call(name, "diff", id, props, olds);
        this.#put(stored, { ...stored, id, inputs, outputs: props, hasInitErrors: false });
      });
    }
    return run.failures.length === 0;
  }

  #put(old: Stored | undefined, stored: Stored): void {
    if (old) this.state = this.state.map((other) => (other === old ? stored : other));
    else this.state.push(stored);
  }

  #drop(stored: Stored): void {
    this.state = this.state.filter((other) => other !== stored);
  }
}

/** Ends one step; it is noted already. */
class Failed extends Error {}

/** Ends the run. */
class Killed extends Error {}

/** One command with a provider process of its own. Every value goes through JSON, as on the wire and in the state's file. */
class Run {
  readonly failures: Failure[] = [];
  killed: Outcome["killed"];
  readonly #startProvider: () => Provider;
  readonly #kill: Kill | undefined;
  #provider: Provider;
  #writes = 0;

  constructor(startProvider: () => Provider, { config, kill }: RunOptions & { config: Config }) {
    this.#startProvider = startProvider;
    this.#kill = kill;
    this.#provider = this.start(config);
  }

  start(config: Config): Provider {
    this.#provider = this.#startProvider();
    this.#provider.configure({ config: { get: (key) => config[key] } });
    return this.#provider;
  }

  /** Whether the work went through. */
  async attempt(work: () => Promise<unknown>): Promise<boolean> {
    const failuresBefore = this.failures.length;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
    }
    return this.failures.length === failuresBefore;
  }

  async check({ name, args }: Goal, old?: Stored): Promise<Values> {
    const { inputs, failures } = await this.call(name, "check", old?.inputs ?? {}, { name, ...args });
    this.failures.push(...failures.map((error) => ({ name, method: "check" as const, error })));
    if (failures.length > 0) throw new Failed();
    return inputs;
  }

  async call<M extends Method>(
    name: string,
    method: M,
    ...args: Parameters<Provider[M]>
  ): Promise<Awaited<ReturnType<Provider[M]>>> {
    const work = this.#provider[method] as (...given: unknown[]) => ReturnType<Provider[M]>;
    try {
      return copy(await work(...copy(args)));
    } catch (error) {
      this.failures.push({ name, method, error });
      throw new Failed("", { cause: error });
    }
  }

  /** A call that may write. An error with an `id` is a resource that is only partly done. */
  async write(
    name: string,
    method: "create" | "update" | "delete",
    ...args: [Values] | [string, Values] | [string, Values, Values]
  ): Promise<{ id: string; outs: Values; hasInitErrors: boolean }> {
    this.#writes += 1;
    const killAt = this.#kill?.calls === this.#writes ? this.#kill.when : undefined;
    if (killAt !== undefined) this.killed = { name, method };
    if (killAt === "before") throw new Killed();
    const work = this.call(name, method, ...(args as Parameters<Provider["update"]>));
    const written = await work.then(
      (result) => ({ id: "", outs: {}, ...result, hasInitErrors: false }),
      (failed: Failed) => {
        const { id, properties = {} } = failed.cause as { id?: string; properties?: Values };
        return id ? { id, outs: copy(properties), hasInitErrors: true } : failed;
      },
    );
    if (killAt === "after") throw new Killed();
    if (written instanceof Failed) throw written;
    return written;
  }
}

const copy = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));
