import type { ResponderLifecycle } from "../handshake-responder/provider.js";
import type { ResourceSpec, Lifecycle } from "../pulumi/dynamic-resource.js";
import type { Path } from "../pulumi/secret-values.js";
import type { OperationContext } from "../webhook/provider.js";
import type { PropertyValues } from "./wire.js";

/** The context of a call for one resource. */
export interface ResourceCall extends OperationContext {
  urn: string;
  project: string;
  stack: string;
  name: string;
  responders: ResponderLifecycle;
  /** Fires at Ctrl-C and at the time limit of the operation; its reason is an `ApiChatError`. */
  signal: AbortSignal;
  /** The configured base URL if it is secret. Check copies it into the stored inputs, where it must stay secret. */
  secretBaseUrl: unknown;
}

/** The server adds the resource's name to inputs and state before each call, and removes it from the result. */
export interface PluginResource {
  /** The same as the dynamic provider's. */
  properties: ResourceSpec;
  /** The same as the dynamic provider's. The state is empty in an import and in a read by ID. */
  lifecycle(call: ResourceCall): Lifecycle;
  /** Returns the outputs that are known before the create. May throw the same errors as the create. */
  previewCreate(inputs: never, call: ResourceCall): Promise<object>;
  /** Returns the outputs that are known before the update. */
  previewUpdate(id: string, state: never, news: never, call: ResourceCall): Promise<object>;
  /** Returns the paths of properties that are secret because they repeat an input that is marked as secret. */
  repeatsIn?(values: PropertyValues, marked: readonly Path[], call: ResourceCall): Path[];
}
