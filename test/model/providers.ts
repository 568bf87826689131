import { createWebhookProvider } from "../../provider/dynamic.js";
import { webhookLifecycle } from "../../provider/webhook/lifecycle.js";
import { memoryLog } from "../../provider/webhook/run-log.js";
import { Run } from "../../provider/webhook/run.js";
import { unmarked } from "../support/dynamic.js";

export type Values = Record<string, unknown>;

export type Config = Record<string, string>;

/** The lifecycle as the engine calls it: methods over plain values. */
export interface Provider {
  check(olds: Values, news: Values): Promise<{ inputs: Values; failures: object[] }>;
  diff(id: string, olds: Values, news: Values): Promise<{ changes: boolean }>;
  create(inputs: Values): Promise<{ id: string; outs: Values }>;
  read(id: string, props: Values): Promise<{ id?: string; props?: Values; inputs?: Values }>;
  update(id: string, olds: Values, news: Values): Promise<{ outs: Values }>;
  delete(id: string, props: Values): Promise<void>;
}

/** The dynamic provider, and two explicit providers of the plugin. */
export const PROVIDERS = ["dynamic", "a", "b"] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** Thrown by a call to a killed process. */
export class Gone extends Error {}

/**
 * The provider processes of one run. They share its log; each is started by its first call and never
 * restarted. The log is in memory: the file of a run has its own tests.
 */
export class Processes {
  readonly #log = memoryLog();
  readonly #running = new Map<ProviderName, (name: string) => Provider>();
  readonly #killed = new Set<ProviderName>();
  #config: Config = {};

  /** A different configuration means different processes. */
  configure(config: Config): void {
    this.#config = config;
    this.#running.clear();
  }

  kill(provider: ProviderName): void {
    this.#killed.add(provider);
  }

  /** The methods for one resource. Throws {@link Gone} if the process was killed. */
  get({ name, provider }: { name: string; provider: ProviderName }): Provider {
    if (this.#killed.has(provider)) throw new Gone("error reading from server: EOF");
    const running = this.#running.get(provider) ?? this.#start(provider);
    this.#running.set(provider, running);
    return running(name);
  }

  #start(provider: ProviderName): (name: string) => Provider {
    const run = new Run(this.#log);
    const config = { get: (key: string) => this.#config[key] };
    run.configure({ config });
    const dynamic = unmarked(createWebhookProvider(run)) as unknown as Provider;
    return provider === "dynamic" ? () => dynamic : (name) => pluginOf(run, name);
  }
}

/** Removes the properties that the plugin does not store. */
const stored = ({ name: _name, __provider: _source, ...values }: Values): Values => values;

const keep = <T extends object>(result: T): T => {
  const values = Object.entries(result).map(([key, value]) => {
    const isStored = ["inputs", "props", "outs"].includes(key) && value !== undefined;
    return [key, isStored ? stored(value as Values) : (value as unknown)];
  });
  return Object.fromEntries(values) as T;
};

/** Does the same for a partial resource. */
const keepPart = (error: unknown): never => {
  if (!(error instanceof Error && "properties" in error)) throw error;
  throw Object.assign(error, { properties: stored(error.properties as Values) });
};

/**
 * Adapts the lifecycle as the plugin does: the name comes from the URN, and the state contains neither name
 * nor source.
 */
function pluginOf(run: Run, name: string): Provider {
  const urn = `urn:pulumi:dev::test::apichat:index:ApiChatWebhook::${name}`;
  const lifecycle = webhookLifecycle({ run, urn }) as unknown as Provider;
  const named = (values: Values): Values => ({ ...values, name });
  return {
    check: async (olds, news) => keep(await lifecycle.check(named(olds), named(news))),
    diff: async (id, olds, news) => {
      const { changes } = await lifecycle.diff(id, named(olds), named(news));
      return { changes: changes || "__provider" in olds };
    },
    create: async (inputs) => keep(await lifecycle.create(named(inputs)).catch(keepPart)),
    read: async (id, props) => keep(await lifecycle.read(id, named(props))),
    update: async (id, olds, news) =>
      keep(await lifecycle.update(id, named(olds), named(news)).catch(keepPart)),
    delete: (id, props) => lifecycle.delete(id, named(props)),
  };
}
