import * as pulumi from "./sdk.js";
import { invalidConfig } from "../lib/files.js";
import { INPUTS, SECRET_PROPERTIES } from "./resource-inputs.js";
import { mayHoldQuery } from "../lib/url.js";

// Code that the resource classes share in a Pulumi program.

/**
 * The source of a dynamic provider, identical for all resources of a type, in all programs and versions. It
 * is stored in each resource's state. It loads the installed package, so delete and refresh do not run outdated code
 * from the state. If the package is missing or Node is too old, the error has no stack trace.
 */
export const providerSource = (type: "ApiChatWebhook" | "VerificationKey" | "ResponderProcess"): string =>
  `exports.handler=()=>{try{return require("pulumi-apichat/dynamic").${type}}` +
  'catch(e){throw Object.assign(Error("npm install pulumi-apichat, on Node 22.19+: "+e),{stack:""})}}';

/**
 * The properties of a resource for the SDK: its arguments, with the secret ones marked. The SDK creates an
 * output for each name, so outputs that only check or create set are listed as undefined.
 */
export function toProperties(
  type: keyof typeof INPUTS,
  name: string,
  args: object,
  provided: readonly string[],
): pulumi.Inputs {
  const kinds: Record<string, string | undefined> = INPUTS[type];
  const given = Object.entries(args as pulumi.Inputs).map(([arg, value]) => [
    arg,
    protect(kinds[arg], value),
  ]);
  const outputs = provided.map((output) => [output, undefined]);
  return { ...Object.fromEntries([...outputs, ...given]), __provider: providerSource(type), name };
}

/** Adds the resource's type in the plugin as an alias. In the generated SDKs, the alias is the dynamic type. */
export const toOptions = (
  type: keyof typeof INPUTS,
  { aliases = [], additionalSecretOutputs = [], ...opts }: pulumi.CustomResourceOptions,
): pulumi.CustomResourceOptions => ({
  ...opts,
  aliases: [...aliases, { type: `apichat:index:${type}` }],
  additionalSecretOutputs: [...additionalSecretOutputs, ...SECRET_PROPERTIES[type]],
});

function protect(kind: string | undefined, value: pulumi.Input<unknown>): pulumi.Input<unknown> {
  if (kind === "url") return keepQuerySecret(value as pulumi.Input<string | undefined>);
  return kind === "secret" && value !== undefined ? pulumi.secret(value) : value;
}

/** Throws `invalid_config` for an unknown argument, which would otherwise be silently ignored. */
export function rejectUnknownArgs(name: string, args: object, names: readonly string[]): void {
  const unknown = Object.keys(args).filter((key) => !names.includes(key));
  if (unknown.length === 0) return;
  throw invalidConfig([
    `${name}: no such argument: ${unknown.join(", ")}; the arguments are ${names.join(", ")}`,
  ]);
}

/** Throws `invalid_config` for the options of an import, because the engine would have no provider source to run. */
export function rejectImport(name: string, opts: pulumi.CustomResourceOptions, hint: string): void {
  if (opts.import === undefined && opts.id === undefined) return;
  throw invalidConfig([`${name}: the options import and id do not work for a dynamic resource; ${hint}`]);
}

/** Marks a URL that has a query as secret, because the query may contain a token. */
export function keepQuerySecret(url: pulumi.Input<string | undefined>): pulumi.Input<string | undefined> {
  if (url === undefined) return undefined;
  // This avoids an Output, whose cost is noticeable in a program with hundreds of webhooks.
  if (typeof url === "string") return mayHoldQuery(url) ? pulumi.secret(url) : url;
  return pulumi
    .output(url)
    .apply((known) => (mayHoldQuery(known) ? pulumi.secret(known) : pulumi.output(known)));
}
