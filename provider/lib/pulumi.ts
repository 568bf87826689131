/**
 * What the package uses of Pulumi's SDK. A static import of an optional peer would fail before any of our code runs, with a stack:
 * the SDK is loaded here instead.
 */
import { createRequire } from "node:module";
import type * as sdk from "@pulumi/pulumi";
import { findSdk } from "./sdk.js";

export type {
  Alias,
  ComponentResourceOptions,
  CustomResourceOptions,
  Input,
  Inputs,
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
  isSecret,
  output,
  Output,
  runtime,
  secret,
  unsecret,
} = createRequire(import.meta.url)(findSdk()) as typeof sdk;
