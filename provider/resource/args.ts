import type { CustomResourceOptions } from "@pulumi/pulumi";
import { ApiChatError } from "../errors/index.js";
import { didYouMean } from "../lib/did-you-mean.js";

/** Throws `invalid_config` for a misspelt argument, which would be a setting that does nothing. */
export function refuseUnknownArgs<T extends object>(
  name: string,
  args: T,
  known: Record<keyof T, true>,
): void {
  const names = Object.keys(known);
  const unknown = Object.keys(args).filter((key) => !names.includes(key));
  if (unknown.length === 0) return;
  const shown = unknown.map((key) => key + didYouMean(key, names)).join(", ");
  throw new ApiChatError(
    "invalid_config",
    `${name}: no such argument: ${shown}; the arguments are ${names.join(", ")}`,
    { operation: "check" },
  );
}

/** Throws `invalid_config` for the options of an import: the engine has no source of the provider to run then. */
export function refuseImport(name: string, opts: CustomResourceOptions, hint: string): void {
  if (opts.import === undefined && opts.id === undefined) return;
  throw new ApiChatError(
    "invalid_config",
    `${name}: the options import and id cannot work for a dynamic resource; ${hint}`,
    { operation: "check" },
  );
}
