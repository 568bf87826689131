import type { CheckResult } from "../lib/checks.js";
import type { Path } from "../lib/secret-values.js";
import type { Values } from "./wire.js";

/** What the engine says of every call that concerns a resource. */
export interface ResourceCall {
  urn: string;
  project: string;
  stack: string;
  /** The name of the resource in the program of this run. */
  name: string;
  /** Fires at Ctrl-C and at the time limit of the operation; its reason is an `ApiChatError`. */
  signal: AbortSignal;
  /** What `customTimeouts` gives for this operation, in seconds. */
  limitSeconds: number | undefined;
}

/** What a create, a read or an update leaves. */
interface Result {
  id: string;
  outs: object;
}

/**
 * One resource of the plugin: converts between the properties of the engine and the functions of the lifecycle, which are the
 * same as those of the dynamic provider. The name of the resource comes from its URN and is in no property.
 */
export interface PluginResource {
  check(call: ResourceCall, olds: Values, news: Values): Promise<CheckResult<object>>;
  /** The names of the properties that update brings to something else; none: there is nothing to do. */
  diff(call: ResourceCall, id: string, state: Values, news: Values): Promise<readonly string[]>;
  create(call: ResourceCall, inputs: Values): Promise<Result>;
  update(call: ResourceCall, id: string, state: Values, news: Values): Promise<object>;
  /** Undefined: it is gone. Without a state it is an import, or a read by id. */
  read(
    call: ResourceCall,
    id: string,
    state: Values | undefined,
  ): Promise<(Result & { inputs?: object }) | undefined>;
  delete(call: ResourceCall, id: string, state: Values): Promise<void>;
  /** The outputs as far as they are known before the create. May throw what the create would throw. */
  previewCreate(call: ResourceCall, inputs: Values): Promise<object>;
  /** The outputs as far as they are known before the update. */
  previewUpdate(call: ResourceCall, id: string, state: Values, news: Values): Promise<object>;
  /** Returns what is secret because of its value or because it repeats what the program has marked, beside what the schema says. */
  secretsIn(values: Values, marked: readonly Path[]): Path[];
}

/** Properties as the plugin stores them: the name is in the URN, and a source is of the dynamic provider. */
export function toStored<T extends object>(values: T): Omit<T, "name" | "__provider"> {
  const {
    name: _name,
    __provider: _source,
    ...stored
  } = values as T & { name?: unknown; __provider?: unknown };
  return stored;
}

/** A state that the dynamic provider has written holds its source. Update takes it out. */
export const sourceOf = (state: Values): readonly string[] => ("__provider" in state ? ["__provider"] : []);
