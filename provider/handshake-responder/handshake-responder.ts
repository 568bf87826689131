import * as pulumi from "../pulumi/sdk.js";
import { invalidFields } from "../errors/index.js";
import { parseUrn } from "../lib/urn.js";
import { isMap } from "../lib/values.js";
import { keepQuerySecret, providerSource, rejectUnknownArgs } from "../pulumi/class-arguments.js";
import { healthUrlOf, portOfId, urlsOf } from "./addresses.js";
import { RESPONDER_ARGS } from "./inputs.js";
import { instanceKeyOf } from "./origin.js";

/** One workspace: its keys and path, and where its deliveries go. */
export interface ResponderWorkspaceArgs {
  /**
   * The keys for handshakes and signatures (section 2.1): one key, or a list of up to 32 that are all accepted,
   * such as `VerificationKey.keys`. Stored as a secret. A change is applied without a restart and without a rejected
   * request. Required without `derivedFrom`; with it, these keys are accepted in addition to the derived ones.
   */
  verificationKeys?: pulumi.Input<string | readonly pulumi.Input<string>[]>;
  /** With `derivedFrom`: the subject of this workspace's `VerificationKey`. Default: the workspace's name. */
  subject?: pulumi.Input<string | undefined>;
  /** The path that the service posts to, without a query. Default: "/" and the workspace's name. */
  path?: pulumi.Input<string | undefined>;
  /**
   * The URL to forward verified deliveries to; body and end-to-end headers stay unchanged. Stored as a secret if
   * it has a query. While it is not set, deliveries are kept; they can be read, and are forwarded once it is set.
   */
  forwardTo?: pulumi.Input<string | undefined>;
}

/** The arguments of a `HandshakeResponder`. */
export interface HandshakeResponderArgs<Name extends string = string> {
  /** Workspaces by name (1 to 64 letters, digits, ".", "_", "-"). One process serves all; the path selects the keys. */
  workspaces: Record<Name, ResponderWorkspaceArgs>;
  /**
   * The seed from which the keys of all workspaces are derived, or a list of seeds, as in `VerificationKey`. Requires
   * `rotations`. It is never stored in the state.
   */
  derivedFrom?: pulumi.Input<string | readonly pulumi.Input<string>[] | undefined>;
  /** With `derivedFrom`: the rotations whose keys are accepted, such as `["2026-12", "2026-09"]`. */
  rotations?: pulumi.Input<readonly pulumi.Input<string>[] | undefined>;
  /** The port to listen on. Default: a free port, which is then kept. */
  port?: pulumi.Input<number | undefined>;
  /** The address to listen on. Default: "127.0.0.1", which only this machine can reach. */
  host?: pulumi.Input<string | undefined>;
  /**
   * The public base URL to register instead of host and port: the address of a tunnel or reverse proxy that forwards
   * here, without a query. Each workspace's path is appended to it. Required on CI.
   */
  publicUrl?: pulumi.Input<string | undefined>;
  /**
   * Where the process keeps deliveries, log and configuration: an absolute path to a separate folder, outside the
   * program's folder. Default: `pulumi-apichat/<project>/<stack>-<digest>/<name>` in `$XDG_STATE_HOME` or
   * `~/.local/state`.
   */
  dataDir?: pulumi.Input<string | undefined>;
}

/**
 * Runs a responder on the machine that runs Pulumi, for development and for one fixed host. A responder is a process
 * that outlives `pulumi up`. It answers handshakes (section 6.1), verifies deliveries (section 6.2), writes each to
 * disk before it answers 200, and forwards them. Changed arguments are applied without a restart, except a
 * different port, host or folder. `destroy` stops it and keeps deliveries that were not forwarded. Fails with
 * an `ApiChatError` that says what to do next.
 *
 * @example
 * ```ts
 * const responder = new HandshakeResponder("chat", {
 *   workspaces: {
 *     acme: {
 *       verificationKeys: config.requireSecret("verificationKey"),
 *       forwardTo: "http://127.0.0.1:3000/apichat",
 *     },
 *   },
 * });
 * export const webhook_url = responder.urls.acme;
 * ```
 */
export class HandshakeResponder<Name extends string = string> extends pulumi.ComponentResource {
  /** The URL for each workspace's webhook, by the workspace's name. Known in the preview of an update. */
  declare readonly urls: pulumi.Output<Record<Name, string>>;
  /** The TCP port on which the process listens. Known in the preview of an update. */
  declare readonly port: pulumi.Output<number>;
  /** The process ID, as the last `up` or `refresh` saw it. */
  declare readonly pid: pulumi.Output<number>;
  /** The folder that contains the deliveries and the log: pass it to `apichat responder deliveries --data-dir`. */
  declare readonly dataDir: pulumi.Output<string>;
  /**
   * The health check URL, which answers 200 while the process is healthy. It uses host and port even if `publicUrl` is
   * set.
   */
  declare readonly healthUrl: pulumi.Output<string>;

  constructor(name: string, args: HandshakeResponderArgs<Name>, opts: pulumi.ComponentResourceOptions = {}) {
    rejectWrongArgs(name, args);
    // Passes no arguments: the SDK would write them, with unencrypted keys, into the component's own state.
    super("apichat:index:HandshakeResponder", name, {}, opts);
    const child = new ProcessResource(name, args, {
      parent: this,
      aliases: opts.aliases?.map(toPreviousName) ?? [],
    });
    const { host, publicUrl } = args;
    const workspaces = mapValues(args.workspaces, ({ path }) => ({ path }));
    // The program's port, or else the port in the ID, which the preview of an update knows. This output depends
    // on the process, so that a webhook is updated only after the process has applied its change.
    const port = pulumi
      .all([args.port, child.urn])
      .apply(([given]) => pulumi.output(given || child.id.apply(portOfId)));
    const outputs = {
      urls: pulumi.output({ host, port, publicUrl, workspaces }).apply(urlsOf),
      port,
      pid: child.pid,
      dataDir: child.dataDir,
      healthUrl: pulumi.output({ host, port }).apply(healthUrlOf),
    };
    Object.assign(this, outputs);
    this.registerOutputs(outputs);
  }
}

/**
 * Returns the alias of the process for an alias of its component. The engine itself does this only for a new
 * component; once an `up` without the alias has failed, the component is no longer new.
 */
const toPreviousName = (alias: pulumi.Input<pulumi.URN | pulumi.Alias>): pulumi.Input<pulumi.Alias> =>
  pulumi.output(alias).apply((known) => {
    const name = typeof known === "string" ? parseUrn(known).name : known.name;
    return name === undefined ? {} : { name };
  });

/** The names and fields of workspaces are known while the program runs; only the values may resolve later. */
function rejectWrongArgs(name: string, args: HandshakeResponderArgs): void {
  rejectUnknownArgs(name, args, RESPONDER_ARGS);
  const workspaces = Object.entries(args.workspaces ?? {});
  const objects: [field: string, value: unknown][] = [
    ["workspaces", args.workspaces],
    ...workspaces.map(([one, given]): [string, unknown] => [`workspaces.${one}`, given]),
  ];
  const wrong = objects.find(([, value]) => !isMap(value) || pulumi.Output.isInstance(value));
  if (wrong === undefined) return;
  const text =
    "must be an object, not a list, an Output or a promise; write { acme: { verificationKeys } }, " +
    "where verificationKeys may be an Output";
  throw invalidFields([{ field: wrong[0], text }], { subject: name });
}

const mapValues = <From, To>(values: Record<string, From>, map: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));

/** Empty if a user's test does not mock an organization, because the SDK then throws. */
function organizationName(): string {
  try {
    return pulumi.getOrganization();
  } catch {
    return "";
  }
}

/** The resource's ID is the address at which the process was started. Previews of an update know this ID. */
class ProcessResource extends pulumi.CustomResource {
  declare readonly pid: pulumi.Output<number>;
  declare readonly dataDir: pulumi.Output<string>;

  constructor(name: string, args: HandshakeResponderArgs, opts: pulumi.CustomResourceOptions) {
    const seed = args.derivedFrom === undefined ? undefined : pulumi.secret(args.derivedFrom);
    const properties = {
      __provider: providerSource("ResponderProcess"),
      name,
      instanceKey: instanceKeyOf([pulumi.getProject(), pulumi.getStack(), name]),
      organization: organizationName(),
      ...args,
      derivedFrom: seed,
      workspaces: mapValues(args.workspaces, ({ verificationKeys, forwardTo, ...rest }) => ({
        ...rest,
        forwardTo: keepQuerySecret(forwardTo),
        // Unknown while the seed is unknown, because check adds derived keys.
        verificationKeys: pulumi.all([pulumi.secret(verificationKeys), seed]).apply(([keys]) => keys),
      })),
      // Listed so that the SDK creates outputs for them; check and create provide the values.
      dataDir: args.dataDir,
      pid: undefined,
      instance: undefined,
      machine: undefined,
    };
    super("pulumi-nodejs:dynamic/apichat:ResponderProcess", name, properties, {
      ...opts,
      deleteBeforeReplace: true,
    });
  }
}
