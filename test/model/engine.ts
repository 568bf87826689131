import { createWebhookProvider } from "../../provider/dynamic.js";
import { Run } from "../../provider/webhook/run.js";
import { unmarked } from "../support/dynamic.js";

type Values = Record<string, unknown>;

/** The lifecycle as the engine sees it: methods over plain values. */
interface Provider {
  configure(request: { config: { get(key: string): string | undefined } }): void;
  check(olds: Values, news: Values): Promise<{ inputs: Values; failures: object[] }>;
  diff(id: string, olds: Values, news: Values): Promise<{ changes: boolean }>;
  create(inputs: Values): Promise<{ id: string; outs: Values }>;
  read(id: string, props: Values): Promise<{ id?: string; props?: Values; inputs?: Values }>;
  update(id: string, olds: Values, news: Values): Promise<{ outs: Values }>;
  delete(id: string, props: Values): Promise<void>;
}

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
  /** Replaced already: it is deleted at the end of this `up`, or of the next one. */
  isPendingDelete: boolean;
}

type Method = Exclude<keyof Provider, "configure">;

export interface Failure {
  name: string;
  method: Method;
  /** The address that the call was given. */
  baseUrl: unknown;
  error: unknown;
}

/** Kills a run before or after so many calls that may write. What the last of them returned is lost. */
export interface Kill {
  calls: number;
  when: "before" | "after";
}

export interface UpOptions {
  config?: Config;
  kill?: Kill;
  /** The names to replace. */
  replace?: readonly string[];
  refresh?: boolean;
  /** Every resource is checked before the first is touched; otherwise one resource after the other. The engine does both. */
  checksFirst?: boolean;
  /** The steps of several resources run at once. */
  isParallel?: boolean;
}

export interface Outcome {
  ok: boolean;
  failures: readonly Failure[];
  /** The call at which the run was killed. */
  killed: Omit<Failure, "error"> | undefined;
}

/** Ends one step; it is noted already. */
class Failed extends Error {}

/** Ends the run. */
class Killed extends Error {}

/**
 * Plays the engine's part: the order of calls, what they are given, and what becomes of the state, as `step_generator.go` and
 * `step.go` of the engine 3.259 do it. Every value goes through JSON, as on the wire and in the state's file.
 */
export class Engine {
  state: Stored[] = [];
  /** refresh and destroy run without the program, so with the configuration of the last `up`. */
  lastConfig: Config = {};
  // Of the run in progress.
  #provider = startProvider();
  #failures: Failure[] = [];
  #kill: Kill | undefined;
  #killed: Outcome["killed"];
  #writes = 0;

  up(goals: readonly Goal[], { config = {}, refresh, kill, ...options }: UpOptions): Promise<Outcome> {
    return this.#run(refresh ? this.lastConfig : config, kill, async () => {
      if (refresh && !(await this.#refreshAll())) return;
      // Another configuration means another default provider, which is another process.
      if (refresh && JSON.stringify(config) !== JSON.stringify(this.lastConfig)) this.#start(config);
      this.lastConfig = config;
      if (!(await this.#registerAll(goals, options))) return;
      const isDropped = ({ name }: Stored): boolean => goals.every((goal) => goal.name !== name);
      await this.#deleteAll(this.state.filter((stored) => stored.isPendingDelete || isDropped(stored)));
    });
  }

  preview(goals: readonly Goal[], config: Config): Promise<Outcome> {
    return this.#run(config, undefined, async () => {
      for (const goal of goals) await this.#attempt(() => this.#plan(goal, []));
    });
  }

  refresh(): Promise<Outcome> {
    return this.#run(this.lastConfig, undefined, () => this.#refreshAll());
  }

  destroy(kill?: Kill): Promise<Outcome> {
    return this.#run(this.lastConfig, kill, () => this.#deleteAll(this.state));
  }

  /** `pulumi state delete`: nobody is asked. */
  forget(name: string): void {
    this.state = this.state.filter((stored) => stored.name !== name);
  }

  /** One command with a provider process of its own. */
  async #run(config: Config, kill: Kill | undefined, work: () => Promise<unknown>): Promise<Outcome> {
    this.#failures = [];
    this.#kill = kill;
    this.#killed = undefined;
    this.#writes = 0;
    this.#start(config);
    await work().catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
    const [failures, killed] = [this.#failures, this.#killed];
    return { ok: failures.length === 0 && killed === undefined, failures, killed };
  }

  #start(config: Config): void {
    this.#provider = startProvider();
    this.#provider.configure({ config: { get: (key) => config[key] } });
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
      // A failure ends the program; what is on its way already goes on.
      if (this.#failures.length > 0) break;
    }
    for (const step of steps) await start(step);
    await Promise.all(running);
    return this.#failures.length === 0;
  }

  /** Checks and compares one resource, and gives the step that follows. */
  async #plan(goal: Goal, replace: readonly string[]): Promise<() => Promise<void>> {
    const { name, aliases } = goal;
    const live = this.state.filter(({ isPendingDelete }) => !isPendingDelete);
    const old =
      live.find((stored) => stored.name === name) ?? live.find((stored) => aliases.includes(stored.name));
    const isTarget = replace.includes(name);
    const inputs = await this.#check(goal, isTarget ? undefined : old);
    if (!old) return () => this.#create(name, inputs);
    if (isTarget) return () => this.#replace(old, name, inputs);
    const { changes } = await this.#call(name, "diff", old.id, old.outputs, inputs);
    if (!changes && !old.hasInitErrors) return async () => this.#put(old, { ...old, name, inputs });
    return async () => {
      const { outs, hasInitErrors } = await this.#write(name, "update", old.id, old.outputs, inputs);
      this.#put(old, { ...old, name, inputs, outputs: outs, hasInitErrors });
    };
  }

  async #create(name: string, inputs: Values): Promise<void> {
    const { id, outs, hasInitErrors } = await this.#write(name, "create", inputs);
    this.#put(undefined, { name, id, inputs, outputs: outs, hasInitErrors, isPendingDelete: false });
  }

  async #replace(old: Stored, name: string, inputs: Values): Promise<void> {
    await this.#create(name, inputs);
    old.isPendingDelete = true;
  }

  async #deleteAll(resources: readonly Stored[]): Promise<void> {
    for (const stored of resources.toReversed()) {
      const { name, id, outputs } = stored;
      if (await this.#attempt(() => this.#write(name, "delete", id, outputs))) this.#put(stored);
    }
  }

  async #refreshAll(): Promise<boolean> {
    for (const stored of this.state) {
      await this.#attempt(async () => {
        const { name, inputs: olds } = stored;
        const { id, props = {}, inputs = olds } = await this.#call(name, "read", stored.id, stored.outputs);
        if (id === undefined) return this.#put(stored);
        await this.#call(name, "diff", id, props, olds);
        this.#put(stored, { ...stored, id, inputs, outputs: props, hasInitErrors: false });
      });
    }
    return this.#failures.length === 0;
  }

  /** Stores a resource in the place of another, at the end, or drops one. */
  #put(old: Stored | undefined, stored?: Stored): void {
    const rest = old ? this.state : [...this.state, undefined];
    this.state = rest.flatMap((other) => (other === old ? (stored ?? []) : (other ?? [])));
  }

  /** Whether the work went through. */
  async #attempt(work: () => Promise<unknown>): Promise<boolean> {
    return work().then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Failed)) throw error;
        return false;
      },
    );
  }

  async #check({ name, args }: Goal, old?: Stored): Promise<Values> {
    const { inputs, failures } = await this.#call(name, "check", old?.inputs ?? {}, { name, ...args });
    this.#failures.push(
      ...failures.map((error) => ({ name, method: "check" as const, baseUrl: args["baseUrl"], error })),
    );
    if (failures.length > 0) throw new Failed();
    return inputs;
  }

  async #call<M extends Method>(
    name: string,
    method: M,
    ...args: Parameters<Provider[M]>
  ): Promise<Awaited<ReturnType<Provider[M]>>> {
    const work = this.#provider[method] as (...given: unknown[]) => ReturnType<Provider[M]>;
    try {
      return copy(await work(...copy(args)));
    } catch (error) {
      this.#failures.push({ name, method, baseUrl: baseUrlOf(args), error });
      throw new Failed("", { cause: error });
    }
  }

  /** A call that may write. An error with an `id` is a resource that is only partly done. */
  async #write(
    name: string,
    method: "create" | "update" | "delete",
    ...args: [Values] | [string, Values] | [string, Values, Values]
  ): Promise<{ id: string; outs: Values; hasInitErrors: boolean }> {
    this.#writes += 1;
    const killAt = this.#kill?.calls === this.#writes ? this.#kill.when : undefined;
    if (killAt !== undefined) this.#killed = { name, method, baseUrl: baseUrlOf(args) };
    if (killAt === "before") throw new Killed();
    const written = await this.#call(name, method, ...(args as Parameters<Provider["update"]>)).then(
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

/** The lifecycle of a new provider process: it knows nothing of other runs. */
const startProvider = (): Provider => unmarked(createWebhookProvider(new Run())) as unknown as Provider;

/** Inputs come last. */
const baseUrlOf = (args: readonly unknown[]): unknown => (args.at(-1) as Values)["baseUrl"];

const copy = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));
