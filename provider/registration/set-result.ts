import type { Registration } from "../client/internal.js";
import type { ApiChatError } from "../errors/index.js";
import type { Ours } from "./applied.js";
import type { WantedWebhook } from "./wanted.js";
import type { WorkspaceClient } from "./workspace.js";

/** What to set, and what stood there before. */
export interface SetRequest {
  client: Pick<WorkspaceClient, "getWebhook" | "setWebhook">;
  wanted: WantedWebhook;
  /** What a look has shown. The caller has decided that it may be replaced. */
  seen: Registration | undefined;
  /** What we last set or adopted in this workspace, if anything. */
  ours?: Ours | undefined;
  /** Ends the work at once. */
  signal?: AbortSignal | undefined;
}

/** What set-webhook led to: what is registered now, or a failure that leaves it open. */
export type SetResult = { registration: Registration; failure?: never } | Uncertain;

/** A failure after which the webhook may be registered anyway. */
export interface Uncertain {
  failure: ApiChatError;
  /** What stands there, if the service has shown it with our URL and a bot URL. */
  standing?: Registration | undefined;
  registration?: never;
}
