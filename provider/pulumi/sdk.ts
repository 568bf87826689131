/** A static import of @pulumi/pulumi, an optional peer, would fail with a stack trace before our code runs. */
import { createRequire } from "node:module";
import type * as sdk from "@pulumi/pulumi";
import { ApiChatError } from "../errors/index.js";
import { MIN_PULUMI } from "../lib/version.js";

export type {
  Alias,
  ComponentResourceOptions,
  CustomResourceOptions,
  Input,
  Inputs,
  Resource,
  Unwrap,
  URN,
} from "@pulumi/pulumi";
export type Output<T> = sdk.Output<T>;

export const {
  all,
  ComponentResource,
  CustomResource,
  getOrganization,
  getProject,
  getStack,
  log,
  output,
  Output,
  ResourceError,
  runtime,
  secret,
  unsecret,
} = loadSdk();

function loadSdk(): typeof sdk {
  const require = createRequire(import.meta.url);
  const name = "@pulumi/pulumi";
  try {
    require.resolve(name);
  } catch {
    const text =
      `${name}, which programs with pulumi-apichat need, is not installed; run: ` +
      `npm install ${name}@^${MIN_PULUMI.split(".", 1)[0]}`;
    throw new ApiChatError("invalid_config", text, { operation: "check" });
  }
  return require(name) as typeof sdk;
}
