import type { CheckResult, RawInputs } from "./checks.js";
import { markSecrets, type Path } from "./secret-values.js";
import { refuseOthers } from "./validate.js";

/** The methods of a dynamic provider that return properties. The SDK passes them plain values. */
interface Lifecycle {
  check(olds: never, news: RawInputs): Promise<CheckResult<object>>;
  create(inputs: never): Promise<{ id: string; outs: object }>;
  read(id: string, props: never): Promise<object>;
  update(id: string, olds: never, news: never): Promise<{ outs: object }>;
}

/** What is known of a dynamic resource's properties. */
export interface DynamicResource {
  /** The arguments of the class, for people. */
  args: readonly string[];
  /** The other inputs: what the class and check add. */
  added: readonly string[];
  /** Where secrets are in inputs or outputs. */
  secretsIn: (values: Record<string, unknown>) => readonly Path[];
}

/**
 * Keeps the secrets of a dynamic resource encrypted, and rejects inputs that it does not know. The class marks secrets and
 * rejects misspelt arguments too, but a transform of the program runs after it: it may drop the marks and add anything.
 */
export function guardDynamic<L extends Lifecycle>(
  { args, added, secretsIn }: DynamicResource,
  lifecycle: L,
): L {
  const mark = (values: object): object => markSecrets(values, secretsIn(values as Record<string, unknown>));
  const known = new Set([...args, ...added]);
  const guarded: Lifecycle = {
    check: async (olds, news) => {
      // An argument that resolves to undefined arrives as null.
      const given = Object.keys(news).filter((name) => news[name] !== null && !known.has(name));
      const unknown = refuseOthers(given, args);
      const { inputs, failures } = await lifecycle.check(olds, news);
      return { inputs: mark(inputs), failures: [...unknown, ...failures] };
    },
    create: (inputs) =>
      markPartlyDone(mark, async () => {
        const { id, outs } = await lifecycle.create(inputs);
        return { id, outs: mark(outs) };
      }),
    read: async (id, stored) => {
      const { props, inputs, ...seen } = (await lifecycle.read(id, stored)) as Record<string, object>;
      return { ...seen, ...(props && { props: mark(props) }), ...(inputs && { inputs: mark(inputs) }) };
    },
    update: (id, olds, news) =>
      markPartlyDone(mark, async () => ({ outs: mark((await lifecycle.update(id, olds, news)).outs) })),
  };
  return { ...lifecycle, ...guarded };
}

/** A failure of a resource that is partly done holds the properties that the engine is to keep. */
async function markPartlyDone<T>(mark: (values: object) => object, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && "properties" in error)) throw error;
    throw Object.assign(error, { properties: mark(error.properties as object) });
  }
}
