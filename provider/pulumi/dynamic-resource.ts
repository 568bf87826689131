import { ApiChatError } from "../errors/index.js";
import {
  fail,
  type CheckFailure,
  type CheckResult,
  type DiffResult,
  type RawInputs,
} from "./check-and-diff.js";
import { isMap, withoutNulls } from "../lib/values.js";
import { describeFailure } from "./provider-process.js";
import { markSecrets, type Path } from "./secret-values.js";
import { isPlainName } from "../lib/validate.js";

/** The methods of a dynamic provider. The SDK passes them plain values. */
export interface Lifecycle {
  check(olds: never, news: RawInputs): Promise<CheckResult<object>>;
  diff(id: string, olds: never, news: never): Promise<DiffResult>;
  create(inputs: never): Promise<{ id: string; outs: object }>;
  /** An empty result tells the engine that the resource is gone. */
  read(id: string, props: never): Promise<{ id?: string; props?: object; inputs?: object }>;
  update(id: string, olds: never, news: never): Promise<{ outs: object }>;
  delete(id: string, props: never): Promise<void>;
}

type Named = { name: string };

export interface ResourceSpec {
  /** The arguments of the class, as error messages list them. */
  args: readonly string[];
  /** Inputs that check or the class adds, except the name. Check receives them from imports and `ignoreChanges`. */
  added: readonly string[];
  secretsIn: (values: Record<string, unknown>) => readonly Path[];
  /** Returns the name under which this run declares the resource of a state. Default: the name in the state. */
  nameOf?: (props: never) => string;
}

/** Rejects inputs that a resource does not have, except those of the engine and the SDK, which begin with "__". */
export function rejectUnknown({ args, added }: ResourceSpec, news: object): CheckFailure[] {
  const known = [...args, ...added];
  return Object.keys(news).flatMap((name) => {
    if (known.includes(name) || name.startsWith("__")) return [];
    const shown = isPlainName(name) ? `: ${name}` : "";
    return fail(`no such input${shown}; the inputs are ${args.join(", ")}`);
  });
}

/**
 * Keeps the secrets of a dynamic resource encrypted, rejects inputs that the resource does not have, and names the
 * resource in failures. The class also marks secrets and rejects misspelt arguments, but a transform in the program
 * runs later, and may drop the marks and add any input.
 */
export function guardDynamic<L extends Lifecycle>(
  { nameOf = ({ name }: Named) => name, ...resource }: ResourceSpec,
  lifecycle: L,
): L {
  const mark = (values: object): object =>
    markSecrets(values, resource.secretsIn(values as Record<string, unknown>));
  const markStored = <T extends object>(result: T): T => {
    for (const [name, values] of Object.entries(result))
      if (STORED.has(name) && isMap(values)) Object.assign(result, { [name]: mark(values) });
    return result;
  };
  const guard = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    try {
      const result = await work();
      return isMap(result) ? markStored(result) : result;
    } catch (error) {
      if (error instanceof ApiChatError) throw toShortFailure(name, error);
      throw error instanceof Error ? markStored(error) : error;
    }
  };
  const guarded: Lifecycle = {
    check: (olds, raw) =>
      guard(raw.name, async () => {
        // An argument that resolves to undefined arrives as null.
        const news = withoutNulls(raw);
        const { name: _, ...given } = news;
        const { inputs, failures } = await lifecycle.check(olds, news);
        return { inputs, failures: [...rejectUnknown(resource, given), ...failures] };
      }),
    diff: (id, olds, news: Named) => guard(news.name, () => lifecycle.diff(id, olds, news as never)),
    create: (inputs: Named) => guard(inputs.name, () => lifecycle.create(inputs as never)),
    read: (id, stored) => guard(nameOf(stored), () => lifecycle.read(id, stored)),
    update: (id, olds, news: Named) => guard(news.name, () => lifecycle.update(id, olds, news as never)),
    delete: (id, stored) => guard(nameOf(stored), () => lifecycle.delete(id, stored)),
  };
  return { ...lifecycle, ...guarded };
}

/**
 * For check, diff, read and delete, the SDK prints `${error}: ${stack}` in addition to the engine's message;
 * this function shortens that text to one line, such as "ApiChatError: acme: unauthorized".
 */
function toShortFailure(name: string, error: ApiChatError): ApiChatError {
  const named = error.with({ subject: name });
  return Object.assign(named, {
    message: describeFailure(name, error),
    stack: `${name}: ${error.code}`,
    toString: () => named.name,
  });
}

const STORED = new Set(["inputs", "props", "outs", "properties"]);
