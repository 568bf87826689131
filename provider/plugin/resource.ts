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
  /** The names of the properties that an update would change; empty if there is nothing to do. */
  diff(call: ResourceCall, id: string, state: Values, news: Values): Promise<readonly string[]>;
  create(call: ResourceCall, inputs: Values): Promise<Result>;
  update(call: ResourceCall, id: string, state: Values, news: Values): Promise<object>;
  /** Returns undefined if the resource is gone. Without a state, it is an import or a read by ID. */
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
  /**
   * Returns the paths that are secret because of their value, or because they repeat a value that the program has
   * marked, in addition to those in the schema.
   */
  secretsIn(values: Values, marked: readonly Path[]): Path[];
}

/**
 * Removes properties that the plugin does not store: the name, which is in the URN, and the dynamic provider's source.
 */
export function omitNameAndSource<T extends object>(values: T): Omit<T, "name" | "__provider"> {
  const {
    name: _name,
    __provider: _source,
    ...stored
  } = values as T & { name?: unknown; __provider?: unknown };
  return stored;
}

/** A state that the dynamic provider has written holds its source. Update takes it out. */
export const leftoverSource = (state: Values): readonly string[] =>
  "__provider" in state ? ["__provider"] : [];
