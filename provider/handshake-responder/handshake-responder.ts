import * as pulumi from "../lib/pulumi.js";
import { ApiChatError } from "../errors/index.js";
import { keepQuerySecret, providerSource, refuseUnknownArgs } from "../lib/resource-class.js";
import { SECRET_PROPERTIES } from "../lib/secret-properties.js";
import { defaultPath, HEALTH_PATH, toWirePath } from "../lib/url.js";
import { DEFAULT_HOST, instanceKeyOf, joinUrl, originOf, portOfId } from "./addresses.js";

/** One workspace: its keys and path, and where its deliveries go. */
export interface ResponderWorkspaceArgs {
  /**
   * The keys for handshakes and signatures (section 2.1): one, or a list of up to 32 in which all are accepted, such as
   * `VerificationKey.keys`. Stored as a secret. A change is applied without a restart and without a refused request.
   * Required without `derivedFrom`; together with it, these keys are accepted too.
   */
  verificationKeys?: pulumi.Input<string | readonly pulumi.Input<string>[]>;
  /** With `derivedFrom`: the subject of this workspace's `VerificationKey`. Default: the workspace's name. */
  subject?: pulumi.Input<string | undefined>;
  /** Where the service posts: begins with "/", without a query. Default: "/" and the workspace's name; in the short form "/". */
  path?: pulumi.Input<string | undefined>;
  /**
   * Where verified deliveries are forwarded: body byte for byte, end-to-end headers unchanged. Stored as a secret if it
   * has a query. Without it, deliveries are kept to be read, and forwarded once it is set.
   */
  forwardTo?: pulumi.Input<string | undefined>;
}

/** Arguments of both forms. */
interface ProcessArgs {
  /**
   * The seed from which the keys of all workspaces are derived, or a list of seeds, as in `VerificationKey`. Requires
   * `rotations`. It is never stored in the state.
   */
  derivedFrom?: pulumi.Input<string | readonly pulumi.Input<string>[] | undefined>;
  /** With `derivedFrom`: the rotations whose keys are accepted, such as `["2026-12", "2026-09"]`. */
  rotations?: pulumi.Input<readonly pulumi.Input<string>[] | undefined>;
  /** The port to listen on. Default: a free port, which is then kept. */
  port?: pulumi.Input<number | undefined>;
  /** The address to listen on. Default: "127.0.0.1", this machine only. */
  host?: pulumi.Input<string | undefined>;
  /**
   * The public base URL to register instead of host and port: the address of a tunnel or reverse proxy that forwards
   * here, without a query. Each workspace's path is appended to it. Required on CI.
   */
  publicUrl?: pulumi.Input<string | undefined>;
  /**
   * Where the process keeps deliveries, log and configuration: an absolute path to a folder of its own, outside the
   * program's folder. Default: `pulumi-apichat/<project>/<stack>-<digest>/<name>` in `$XDG_STATE_HOME` or
   * `~/.local/state`.
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

/**
 * Runs a responder on the machine that runs Pulumi, for development and for one fixed host: a process that outlives
 * `pulumi up`, answers handshakes (section 6.1), verifies deliveries (section 6.2), writes each to disk before it
 * answers 200, and forwards them. A change of its arguments is applied without a restart; only a different port, host
 * or folder needs one. `destroy` stops it and keeps deliveries that were not forwarded. Fails with an `ApiChatError`
 * that says what to do next.
 *
 * @example
 * ```ts
 * const responder = new HandshakeResponder("acme", {
 *   verificationKeys: config.requireSecret("verificationKey"),
 *   forwardTo: "http://127.0.0.1:3000/apichat",
 * });
 * export const webhook_url = responder.url;
 * ```
 */
export class HandshakeResponder<Name extends string = string> extends pulumi.ComponentResource {
  /** The URL for each workspace's webhook, by the workspace's name. Known in the preview of an update. */
  declare readonly urls: pulumi.Output<Record<Name, string>>;
  /**
   * The URL for the webhook of the only workspace. Known in the preview of an update. Reading it throws
   * `invalid_config` if there are several workspaces: see `urls`.
   */
  declare readonly url: pulumi.Output<string>;
  /** Where the process listens. Known in the preview of an update. */
  declare readonly port: pulumi.Output<number>;
  /** The process, as the last `up` or `refresh` saw it. */
  declare readonly pid: pulumi.Output<number>;
  /** The folder with deliveries and log, for `apichat responder deliveries --data-dir`. */
  declare readonly dataDir: pulumi.Output<string>;
  /**
   * The health check URL, which answers 200 while the process is healthy. It uses host and port even if `publicUrl` is
   * set.
   */
  declare readonly healthUrl: pulumi.Output<string>;

  constructor(name: string, args: HandshakeResponderArgs<Name>, opts: pulumi.ComponentResourceOptions = {}) {
    const workspaces = resolveWorkspaces(name, args);
    // Without the arguments: the SDK would write them into the component's own state, including the unencrypted keys.
    super("apichat:index:HandshakeResponder", name, {}, opts);
    const child = new ResponderProcess(name, toProcessArgs(name, args, workspaces), {
      parent: this,
      aliases: opts.aliases?.map(toFormerName) ?? [],
    });
    const { origin, base, port } = addressOf(child, args);
    const paths = Object.entries(workspaces).map(([workspace, { path }]) => [workspace, path] as const);
    const urls = pulumi
      .all([base, pulumi.output(Object.fromEntries(paths))])
      .apply(([root, known]) => mapValues(known, (path) => joinUrl(root, toWirePath(path))));
    const [only, ...others] = Object.keys(workspaces);
    const outputs = {
      urls,
      ...(only !== undefined && others.length === 0 && { url: urls.apply((known) => known[only] ?? "") }),
      port,
      pid: child.pid,
      dataDir: child.dataDir,
      healthUrl: origin.apply((known) => joinUrl(known, HEALTH_PATH)),
    };
    Object.assign(this, outputs);
    if (!("url" in outputs)) Object.defineProperty(this, "url", { get: refuseUrl });
    this.registerOutputs(outputs);
  }
}

/**
 * The alias of the process for one of its component. The engine passes aliases on only while the component itself is new, and
 * it is registered by then if an `up` without the alias has failed.
 */
const toFormerName = (alias: pulumi.Input<pulumi.URN | pulumi.Alias>): pulumi.Input<pulumi.Alias> =>
  pulumi.output(alias).apply((known) => {
    const name = typeof known === "string" ? known.split("::").at(-1) : known.name;
    return name === undefined ? {} : { name };
  });

function refuseUrl(): never {
  const text = "exists only for a responder with a single workspace; use urls.acme for the workspace acme";
  throw new ApiChatError("invalid_config", "", { operation: "check", problems: [{ field: "url", text }] });
}

/** A workspace with its path. */
interface ResolvedWorkspace extends ResponderWorkspaceArgs {
  path: pulumi.Input<string>;
}

/** The workspace of the short form. */
const DEFAULT_WORKSPACE = "default";

/**
 * Converts both forms to one, with the default paths. Throws `invalid_config` for an unknown argument, and for a mix of
 * both forms.
 */
function resolveWorkspaces(name: string, args: HandshakeResponderArgs): Record<string, ResolvedWorkspace> {
  if (!("workspaces" in args)) {
    refuseUnknownArgs(name, args, { ...KNOWN_PROCESS_ARGS, ...KNOWN_WORKSPACE_ARGS });
    const { verificationKeys, subject, path, forwardTo } = args;
    return {
      [DEFAULT_WORKSPACE]: withPath(
        { ...(verificationKeys !== undefined && { verificationKeys }), subject, path, forwardTo },
        "/",
      ),
    };
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

/** Names and fields of workspaces are known while the program runs; only the values may resolve later. */
function requireObject<T extends object>(name: string, property: string, value: T): T {
  const isPlain = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isPlain && !pulumi.Output.isInstance(value)) return value;
  const text =
    "must be an object, not a list, an Output or a promise; write { acme: { verificationKeys } }, where verificationKeys may be an Output";
  throw new ApiChatError("invalid_config", "", {
    operation: "check",
    subject: name,
    problems: [{ field: property, text }],
  });
}

const KNOWN_PROCESS_ARGS: Record<keyof ProcessArgs, true> = {
  derivedFrom: true,
  rotations: true,
  port: true,
  host: true,
  publicUrl: true,
  dataDir: true,
};

const KNOWN_WORKSPACE_ARGS: Record<keyof ResponderWorkspaceArgs, true> = {
  verificationKeys: true,
  subject: true,
  path: true,
  forwardTo: true,
};

function toProcessArgs(
  name: string,
  { derivedFrom, rotations, host, port, publicUrl, dataDir }: ProcessArgs,
  workspaces: Record<string, ResolvedWorkspace>,
): ResponderProcessArgs {
  const seed = derivedFrom === undefined ? undefined : pulumi.secret(derivedFrom);
  return {
    instanceKey: instanceKeyOf([pulumi.getProject(), pulumi.getStack(), name]),
    organization: organizationName(),
    workspaces: mapValues(workspaces, ({ path, forwardTo }) => ({
      path,
      forwardTo: keepQuerySecret(forwardTo),
    })),
    // As unknown as the seed, where check puts derived keys in.
    verificationKeys: mapValues(workspaces, ({ verificationKeys }) =>
      pulumi
        .all([pulumi.secret(verificationKeys), seed])
        .apply(([known]): unknown => (typeof known === "string" ? [known] : known)),
    ),
    subjects: mapValues(workspaces, ({ subject }) => subject),
    derivedFrom: seed,
    rotations,
    host,
    port,
    publicUrl,
    dataDir,
  };
}

const mapValues = <From, To>(values: Record<string, From>, map: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));

/** The SDK throws if the mocks of a user's test set none. */
function organizationName(): string {
  try {
    return pulumi.getOrganization();
  } catch {
    return "";
  }
}

interface Addresses {
  /** Where the process listens. */
  origin: pulumi.Output<string>;
  /** The base of the URLs to register, to which each path is appended. */
  base: pulumi.Output<string>;
  port: pulumi.Output<number>;
}

/** The program's value, or else the one in the ID, which the preview of an update knows. */
function addressOf(child: ResponderProcess, { host, port: givenPort, publicUrl }: ProcessArgs): Addresses {
  // With the process as a dependency, so that a webhook is updated only once the process has applied its change.
  const given = pulumi.all([host, givenPort, publicUrl, child.urn]);
  const port = given.apply(([, known]) => (known ? pulumi.output(known) : child.id.apply(portOfId)));
  const origin = given.apply(([named = DEFAULT_HOST]) => port.apply((known) => originOf(named, known)));
  const base = given.apply(([, , known]) => (known === undefined ? origin : pulumi.output(known)));
  return { origin, base, port };
}

/** The arguments that the component passes on, with keys as secrets. */
interface ResponderProcessArgs extends ProcessArgs {
  /** Project, stack and name. */
  instanceKey: string;
  organization: string;
  workspaces: pulumi.Inputs;
  verificationKeys: pulumi.Inputs;
  subjects: pulumi.Inputs;
}

const PROVIDER_SOURCE = providerSource("ResponderProcess");

/** The process of a `HandshakeResponder`. Its id is the address at which it was started, known in previews of an update. */
class ResponderProcess extends pulumi.CustomResource {
  declare readonly pid: pulumi.Output<number>;
  declare readonly dataDir: pulumi.Output<string>;

  constructor(name: string, args: ResponderProcessArgs, opts: pulumi.CustomResourceOptions) {
    const properties = {
      __provider: PROVIDER_SOURCE,
      name,
      ...args,
      // Named, so that the SDK makes outputs of them; create gives the values.
      pid: undefined,
      instance: undefined,
      machine: undefined,
    };
    super("pulumi-nodejs:dynamic/apichat:ResponderProcess", name, properties, {
      ...opts,
      additionalSecretOutputs: [...SECRET_PROPERTIES.HandshakeResponder],
      deleteBeforeReplace: true,
    });
  }
}
