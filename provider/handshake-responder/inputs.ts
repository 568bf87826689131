import type { DynamicResource } from "../lib/dynamic-resource.js";
import { SECRET_PROPERTIES } from "../lib/secret-properties.js";
import { mayHoldQuery } from "../lib/url.js";
import type { FileConfig } from "../server/config-shape.js";

type Workspace = FileConfig["workspaces"][string];

/** One workspace in the process's own configuration, without its keys: see {@link ProcessInputs}. */
type WorkspaceInputs = Required<Pick<Workspace, "path">> & Pick<Workspace, "forwardTo">;

/** The inputs as check leaves them. */
export interface ProcessInputs {
  /** The resource's name, for messages. */
  name: string;
  /** Project, stack with a digest of its owner, and name: the default folder's last three parts. See origin.ts. */
  instanceKey: string;
  /** Resolved by check. */
  dataDir: string;
  /** The address to listen on. */
  host: string;
  /** The port to listen on. If absent or 0: the previous port of the process, or any. */
  port?: number;
  /** The base of the URLs to register. */
  publicUrl?: string;
  /** By name. */
  workspaces: Record<string, WorkspaceInputs>;
  /** The keys by the workspace's name, separate from the rest, so that only they are secret. */
  verificationKeys: Record<string, string[]>;
  __provider?: string;
}

/** The outputs in the state. `host` and `port` are where the process listens. */
export interface ProcessState extends ProcessInputs {
  port: number;
  pid: number;
  /** Identifies our start of the process. */
  instance: string;
  /** The machine on which it runs, see origin.ts. */
  machine: string;
  /** A refresh found the process alive and its folder gone: update starts it again. */
  isLost?: true;
  stateVersion: 1;
}

/** The process as a resource of the dynamic provider. */
export const DYNAMIC_PROCESS: DynamicResource = {
  args: [
    "workspaces",
    "verificationKeys",
    "derivedFrom",
    "rotations",
    "host",
    "port",
    "publicUrl",
    "dataDir",
  ],
  added: ["name", "instanceKey", "organization", "subjects", "__provider"],
  secretsIn: ({ workspaces }) => [
    ...SECRET_PROPERTIES.HandshakeResponder.map((name) => [name]),
    // A query may hold a token.
    ...Object.entries((workspaces ?? {}) as Record<string, { forwardTo?: unknown } | null>)
      .filter(([, workspace]) => mayHoldQuery(workspace?.forwardTo ?? ""))
      .map(([name]) => ["workspaces", name, "forwardTo"]),
  ],
};
