import * as pulumi from "@pulumi/pulumi";
import { ApiChatError } from "../errors/index.js";
import { refuseUnknownArgs } from "../lib/resource-class.js";
import { defaultPath } from "../lib/url.js";

/** One workspace: what answers for it, and where its deliveries go. */
export interface ResponderWorkspaceArgs {
  /**
   * The keys of handshake and signature (section 2.1): one, or a list in which all are accepted, such as
   * `VerificationKey.keys`. Kept secret. A change is applied without a restart and without a refused request.
   */
  verificationKeys: pulumi.Input<string | readonly pulumi.Input<string>[]>;
  /** Where the service posts: begins with "/", without a query. Default: "/" and the workspace's name; in the short form "/". */
  path?: pulumi.Input<string | undefined>;
  /**
   * Where verified deliveries are forwarded: body byte for byte, end-to-end headers unchanged. Kept secret if it has a query.
   * Without it they are kept to be read, and forwarded once it is given.
   */
  forwardTo?: pulumi.Input<string | undefined>;
}

/** What both forms have. */
export interface ProcessArgs {
  /** The port to listen on. Default: a free one, which is kept from then on. */
  port?: pulumi.Input<number | undefined>;
  /** The address to listen on. Default: "127.0.0.1", this machine only. */
  host?: pulumi.Input<string | undefined>;
  /**
   * What the service is given in place of host and port: the address of a tunnel or reverse proxy that leads here, without
   * a query. Each workspace's path is put behind it. Needed on CI.
   */
  publicUrl?: pulumi.Input<string | undefined>;
  /**
   * Where the process keeps deliveries, log and configuration: an absolute path outside the program's folder, of its own.
   * Default: `pulumi-apichat/<project>/<stack>-<digest>/<name>` in `$XDG_STATE_HOME` or `~/.local/state`.
   */
  dataDir?: pulumi.Input<string | undefined>;
}

/** The form for any number of workspaces: one process for all, the path selects the keys. */
export interface HandshakeResponderWorkspacesArgs<Name extends string = string> extends ProcessArgs {
  /** By name: 1 to 64 letters, digits, ".", "_" and "-". */
  workspaces: Record<Name, ResponderWorkspaceArgs>;
}

/** The short form, for one workspace. It is named "default". */
export interface HandshakeResponderWorkspaceArgs extends ProcessArgs, ResponderWorkspaceArgs {}

export type HandshakeResponderArgs<Name extends string = string> =
  HandshakeResponderWorkspacesArgs<Name> | HandshakeResponderWorkspaceArgs;

/** A workspace with its path. */
export interface ResolvedWorkspace extends ResponderWorkspaceArgs {
  path: pulumi.Input<string>;
}

/** The workspace of the short form. */
const DEFAULT_WORKSPACE = "default";

/** Both forms as one, with the default paths. Throws `invalid_config` for a misspelt argument, and for a mix of both. */
export function resolveWorkspaces(
  name: string,
  args: HandshakeResponderArgs,
): Record<string, ResolvedWorkspace> {
  if (!("workspaces" in args)) {
    refuseUnknownArgs(name, args, { ...KNOWN_PROCESS_ARGS, ...KNOWN_WORKSPACE_ARGS });
    const { verificationKeys, path, forwardTo } = args;
    return { [DEFAULT_WORKSPACE]: withPath({ verificationKeys, path, forwardTo }, "/") };
  }
  refuseUnknownArgs(name, args, { ...KNOWN_PROCESS_ARGS, workspaces: true });
  const entries = Object.entries(requireObject(name, "workspaces", args.workspaces));
  return Object.fromEntries(
    entries.map(([workspace, given]) => {
      const known = requireObject(name, `workspaces.${workspace}`, given);
      refuseUnknownArgs(`${name}: workspaces.${workspace}`, known, KNOWN_WORKSPACE_ARGS);
      return [workspace, withPath(known, defaultPath(workspace))];
    }),
  );
}

function withPath({ path, ...rest }: ResponderWorkspaceArgs, fallback: string): ResolvedWorkspace {
  const isPlain = path === undefined || typeof path === "string";
  return {
    ...rest,
    path: isPlain ? (path ?? fallback) : pulumi.output(path).apply((own) => own ?? fallback),
  };
}

/** Names and fields of workspaces are known while the program runs: only the values may come later. */
function requireObject<T extends object>(name: string, property: string, value: T): T {
  const isPlain = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isPlain && !pulumi.Output.isInstance(value)) return value;
  throw new ApiChatError(
    "invalid_config",
    `${name}: ${property}: must be an object, not a list, an Output or a promise; write { acme: { verificationKeys } }, where verificationKeys may be an Output`,
    { operation: "check" },
  );
}

const KNOWN_PROCESS_ARGS: Record<keyof ProcessArgs, true> = {
  port: true,
  host: true,
  publicUrl: true,
  dataDir: true,
};

const KNOWN_WORKSPACE_ARGS: Record<keyof ResponderWorkspaceArgs, true> = {
  verificationKeys: true,
  path: true,
  forwardTo: true,
};
