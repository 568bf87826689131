import * as pulumi from "@pulumi/pulumi";
import { ApiChatError } from "../errors/index.js";
import { providerSource, keepQuerySecret } from "../lib/resource-class.js";
import { HEALTH_PATH, toWirePath } from "../lib/url.js";
import { DEFAULT_HOST, joinUrl, originOf, portOfId } from "./addresses.js";
import {
  resolveWorkspaces,
  type HandshakeResponderArgs,
  type ProcessArgs,
  type ResolvedWorkspace,
  type ResponderWorkspaceArgs,
} from "./args.js";

/**
 * Runs a responder on the machine that runs Pulumi, for development and for one fixed host: a process that outlives
 * `pulumi up`, answers handshakes (section 6.1), verifies deliveries (section 6.2), keeps each on disk before it answers 200, and
 * forwards them. A change of its arguments is applied without a restart; only another port, host or folder needs one.
 * `destroy` ends it and keeps what was not forwarded. Fails with an `ApiChatError` that says what to do next.
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
  /** What to give to each workspace's webhook, by the workspace's name. Known in the preview of an update. */
  declare readonly urls: pulumi.Output<Record<Name, string>>;
  /**
   * What to give to the webhook of the only workspace. Known in the preview of an update. Reading it throws
   * `invalid_config` if there are several workspaces: see `urls`.
   */
  declare readonly url: pulumi.Output<string>;
  /** Where the process listens. Known in the preview of an update. */
  declare readonly port: pulumi.Output<number>;
  /** The process, as the last `up` or `refresh` saw it. */
  declare readonly pid: pulumi.Output<number>;
  /** The folder with deliveries and log, as `apichat responder deliveries --data-dir` takes it. */
  declare readonly dataDir: pulumi.Output<string>;
  /** Answers 200 while the process is well; on host and port, also where `publicUrl` is given. */
  declare readonly healthUrl: pulumi.Output<string>;

  constructor(name: string, args: HandshakeResponderArgs<Name>, opts: pulumi.ComponentResourceOptions = {}) {
    const workspaces = resolveWorkspaces(name, args);
    // Without the arguments: the SDK would write them into the component's own state, the keys in clear.
    super("apichat:index:HandshakeResponder", name, {}, opts);
    const child = new ResponderProcess(name, toProcessArgs(name, args, workspaces), { parent: this });
    const { origin, port } = addressOf(child, args);
    const urls = urlsOf(child, { publicUrl: args.publicUrl, origin, workspaces });
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

function refuseUrl(): never {
  throw new ApiChatError(
    "invalid_config",
    "url: is there for a responder of one workspace only; write urls.acme for the workspace acme",
    { operation: "check" },
  );
}

function toProcessArgs(
  name: string,
  { host, port, publicUrl, dataDir }: ProcessArgs,
  workspaces: Record<string, ResolvedWorkspace>,
): ResponderProcessArgs {
  const entries = Object.entries(workspaces);
  return {
    instanceKey: [pulumi.getProject(), pulumi.getStack(), name].map(toFolderName).join("/"),
    organization: organizationName(),
    workspaces: Object.fromEntries(
      entries.map(([workspace, { path, forwardTo }]) => [
        workspace,
        { path, forwardTo: keepQuerySecret(forwardTo) },
      ]),
    ),
    verificationKeys: Object.fromEntries(
      entries.map(([workspace, { verificationKeys }]) => [workspace, toSecretList(verificationKeys)]),
    ),
    host,
    port,
    publicUrl,
    dataDir,
  };
}

function toSecretList(keys: ResponderWorkspaceArgs["verificationKeys"]): pulumi.Input<unknown> {
  return pulumi.secret(keys).apply((known) => (typeof known === "string" ? [known] : known));
}

/** The SDK throws where the mocks of a user's test name none. */
function organizationName(): string {
  try {
    return pulumi.getOrganization();
  } catch {
    return "";
  }
}

/** A name as one part of a path, whatever is in it. */
const toFolderName = (part: string): string =>
  encodeURIComponent(part).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E"));

/** Where the process listens: what the program says, else what stands in the id, which a preview of an update knows. */
function addressOf(
  child: ResponderProcess,
  args: ProcessArgs,
): { origin: pulumi.Output<string>; port: pulumi.Output<number> } {
  // With the process as a dependency, so that a webhook is updated only once the process has applied its change.
  const given = pulumi.all([args.host, args.port, child.urn]);
  const port = given.apply(([, known]) => (known ? pulumi.output(known) : child.id.apply(portOfId)));
  const origin = given.apply(([host = DEFAULT_HOST]) => port.apply((known) => originOf(host, known)));
  return { origin, port };
}

function urlsOf(
  child: ResponderProcess,
  {
    publicUrl,
    origin,
    workspaces,
  }: {
    publicUrl: ProcessArgs["publicUrl"];
    origin: pulumi.Output<string>;
    workspaces: Record<string, ResolvedWorkspace>;
  },
): pulumi.Output<Record<string, string>> {
  const base = pulumi
    .all([publicUrl, child.urn])
    .apply(([known]) => (known === undefined ? origin : pulumi.output(known)));
  const paths = Object.entries(workspaces).map(([workspace, { path }]) => [workspace, path] as const);
  return pulumi
    .all([base, pulumi.output(Object.fromEntries(paths))])
    .apply(([root, known]) =>
      Object.fromEntries(
        Object.entries(known).map(([workspace, path]) => [workspace, joinUrl(root, toWirePath(path))]),
      ),
    );
}

/** What the component passes on, keys as secrets. */
interface ResponderProcessArgs {
  /** Project, stack and name. */
  instanceKey: string;
  organization: string;
  workspaces: pulumi.Inputs;
  verificationKeys: pulumi.Inputs;
  host: pulumi.Input<string | undefined> | undefined;
  port: pulumi.Input<number | undefined> | undefined;
  publicUrl: pulumi.Input<string | undefined> | undefined;
  dataDir: pulumi.Input<string | undefined> | undefined;
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
      additionalSecretOutputs: ["verificationKeys"],
      deleteBeforeReplace: true,
    });
  }
}
