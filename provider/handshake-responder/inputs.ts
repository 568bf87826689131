import type { ResourceSpec } from "../pulumi/dynamic-resource.js";
import type { Path } from "../pulumi/secret-values.js";
import { mayHoldQuery } from "../lib/url.js";
import type { ServerConfig } from "../server/remote.js";

/** The inputs after check, which adds derived keys and default paths to the workspaces. */
export interface ProcessInputs extends Pick<ServerConfig, "host" | "dataDir" | "workspaces"> {
  name: string;
  /** `<project>/<stack>-<digest>/<name>`: the end of the default folder's path. See origin.ts. */
  instanceKey: string;
  /** The port to listen on. If absent or 0: the port that the process had before, or any free one. */
  port?: number;
  publicUrl?: string;
  __provider?: string;
}

/** The outputs in the state. `host` and `port` are where the process listens. */
export interface ProcessState extends ProcessInputs {
  port: number;
  pid: number;
  /** A random ID, new at each start, that distinguishes this process from any other on the port. */
  instance: string;
  /** Identifies the machine on which the process runs: see origin.ts. */
  machine: string;
  stateVersion: 1;
}

/** Returns the paths of the `forwardTo` URLs that are secret, because their query may hold a token. */
const secretTargets = (workspaces: unknown): Path[] =>
  Object.entries((workspaces ?? {}) as Record<string, { forwardTo?: unknown } | null>)
    .filter(([, workspace]) => mayHoldQuery(workspace?.forwardTo ?? ""))
    .map(([name]) => ["workspaces", name, "forwardTo"]);

export const RESPONDER_ARGS = [
  "workspaces",
  "derivedFrom",
  "rotations",
  "port",
  "host",
  "publicUrl",
  "dataDir",
];

export const PROCESS_SPEC: ResourceSpec = {
  args: RESPONDER_ARGS,
  added: ["instanceKey", "organization"],
  secretsIn: ({ workspaces }) => [
    ["derivedFrom"],
    ["workspaces", "*", "verificationKeys"],
    ...secretTargets(workspaces),
  ],
};
