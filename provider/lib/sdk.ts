import { createRequire } from "node:module";
import { ApiChatError } from "../errors/index.js";
import { MIN_PULUMI, majorOf } from "./version.js";

const SDK = "@pulumi/pulumi";

/** Finds Pulumi's SDK, an optional peer that only programs need. Throws `invalid_config` with what to install. */
export function findSdk(): string {
  try {
    return createRequire(import.meta.url).resolve(SDK);
  } catch {
    const text = `${SDK} is not installed, which programs with pulumi-apichat need; run: npm install ${SDK}@^${majorOf(MIN_PULUMI)}`;
    throw new ApiChatError("invalid_config", text, { operation: "check" });
  }
}
