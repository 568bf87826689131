import type { ResponderLifecycle } from "../handshake-responder/lifecycle.js";
import type { CheckResult } from "../lib/checks.js";
import type { Path } from "../lib/secret-values.js";
import type { OperationContext } from "../webhook/run.js";
import type { Values } from "./wire.js";

/** What the engine says about each call for a resource. */
export interface ResourceCall extends OperationContext {
  urn: string;
  project: string;
  stack: string;
  /** The name of the resource in the program of this run. */
  name: string;
  /** What the run knows of its responders. */
  responders: ResponderLifecycle;
  /** Fires at Ctrl-C and at the time limit of the operation; its reason is an `ApiChatError`. */
  signal: AbortSignal;
  /** The base URL of the configuration, if it is secret: check copies it into the stored inputs. */
  secretBaseUrl: unknown;
}

/** The resource after a create or a read. */
interface Result {
  id: string;
  outs: object;
}

/**
 * One resource of the plugin: passes the properties of the engine to the functions of the lifecycle, which are the same as
 * those of the dynamic provider. Inputs and state have the name of the resource; the server adds it and takes it out.
 */
export interface PluginResource<Inputs = never, State = never> {
  check(
    call: ResourceCall,
    olds: Partial<Inputs>,
    news: Values & { name: string },
  ): CheckResult<object> | Promise<CheckResult<object>>;
  /** The names of the properties that an update would change; empty if there is nothing to do. */
  diff(call: ResourceCall, id: string, state: State, news: Inputs): Promise<readonly string[]>;
  create(call: ResourceCall, inputs: Inputs): Promise<Result>;
  update(call: ResourceCall, id: string, state: State, news: Inputs): Promise<object>;
  /** Returns undefined if the resource is gone. Without a state, it is an import or a read by ID. */
  read(
    call: ResourceCall,
    id: string,
    state: State | undefined,
  ): Promise<(Result & { inputs?: object }) | undefined>;
  delete(call: ResourceCall, id: string, state: State): Promise<void>;
  /** The outputs as far as they are known before the create. May throw what the create would throw. */
  previewCreate(call: ResourceCall, inputs: Inputs): Promise<object>;
  /** The outputs as far as they are known before the update. */
  previewUpdate(call: ResourceCall, id: string, state: State, news: Inputs): Promise<object>;
  /**
   * Returns the paths that are secret because of their value, or because they repeat a value that the program has
   * marked, in addition to those in the schema.
   */
  secretsIn(call: ResourceCall, values: Values, marked: readonly Path[]): Path[];
}
