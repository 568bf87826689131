import { webhookLifecycle } from "../../provider/webhook/lifecycle.js";
import { memoryLog } from "../../provider/webhook/run-log.js";
import { Run } from "../../provider/webhook/run.js";

export type Values = Record<string, unknown>;

/** The lifecycle as the engine calls it: methods over plain values. */
export interface Provider {
  check(olds: Values, news: Values): Promise<{ inputs: Values; failures: object[] }>;
  diff(id: string, olds: Values, news: Values): Promise<{ changes: boolean }>;
  create(inputs: Values): Promise<{ id: string; outs: Values }>;
  read(id: string, props: Values): Promise<{ id?: string; props?: Values; inputs?: Values }>;
  update(id: string, olds: Values, news: Values): Promise<{ outs: Values }>;
  delete(id: string, props: Values): Promise<void>;
}

/** The dynamic provider, which knows resources by their names, and two explicit providers of the plugin, by their URNs. */
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
  readonly #running = new Map<ProviderName, Run>();
  readonly #killed = new Set<ProviderName>();

  kill(provider: ProviderName): void {
    this.#killed.add(provider);
  }

  /** The methods for one resource. Throws {@link Gone} if the process was killed. */
  get({ name, provider }: { name: string; provider: ProviderName }): Provider {
    if (this.#killed.has(provider)) throw new Gone("error reading from server: EOF");
    const run = this.#running.get(provider) ?? new Run(this.#log);
    this.#running.set(provider, run);
    const urn = provider === "dynamic" ? {} : { urn: `urn:pulumi:dev::test::apichat:index:Webhook::${name}` };
    return webhookLifecycle({ run, ...urn }) as unknown as Provider;
  }
}
