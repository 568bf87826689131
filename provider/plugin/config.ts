import * as z from "zod";
import { problemOfSecret, type CheckFailure } from "../lib/checks.js";
import { toFailures } from "../lib/provider-process.js";
import { mayHoldQuery } from "../lib/url.js";
import { httpUrl, problemsOf, validatedBy } from "../lib/validate.js";
import type { Configuration } from "../webhook/run.js";
import type { Path } from "../lib/secret-values.js";
import type { Received, Values } from "./wire.js";

// The provider's configuration: defaults for resources without their own `baseUrl` or `apiKey`.

const NAMES = ["baseUrl", "apiKey"];

/** The values that are given: an empty text counts as not given. */
const givenOf = (values: Values): Values =>
  Object.fromEntries(NAMES.map((name) => [name, values[name] === "" ? undefined : values[name]]));

/** A resource may give what is missing. */
const SHAPE = z.object({
  baseUrl: httpUrl("https://platform.example/acme/apichat").optional(),
  apiKey: validatedBy((value) =>
    problemOfSecret(value, "copy it again from the platform's support"),
  ).optional(),
});

/** Returns everything that is wrong. */
export const checkConfig = (values: Values): CheckFailure[] =>
  toFailures(problemsOf(SHAPE, givenOf(values)), NAMES);

/** What is secret, in addition to what the engine has marked. */
export const secretsOfConfig = ({ baseUrl }: Values): Path[] => [
  ["apiKey"],
  ...(mayHoldQuery(baseUrl) ? [["baseUrl"]] : []),
];

/**
 * The names of changed inputs. A changed provider never replaces its resources. Only these names are compared: at the
 * first `up` after a move from the dynamic provider, the old inputs are that provider's.
 */
export const changedConfig = (olds: Values, news: Values): string[] =>
  NAMES.filter((name) => olds[name] !== news[name]);

/** The configuration of a provider, and what it holds as secret. */
export interface ProviderConfig extends Configuration {
  /** Check copies it into the stored inputs. */
  secretBaseUrl: unknown;
  secretTexts: readonly string[];
}

/** The engine's name for a provider that the program does not declare: with the version, if the program names one. */
const DEFAULT_PROVIDER = /^default(_|$)/;

/** Reads the configuration of a provider. */
export function readConfig({ values, secrets, secretTexts }: Received, name: string): ProviderConfig {
  const { baseUrl, apiKey } = givenOf(values) as Record<string, string | undefined>;
  const config: Record<string, string | undefined> = {
    "apichat:baseUrl": baseUrl,
    "apichat:apiKey": apiKey,
  };
  return {
    config: { get: (key) => config[key] },
    isExplicit: !DEFAULT_PROVIDER.test(name),
    secretBaseUrl: secrets.some(([secret]) => secret === "baseUrl") ? baseUrl : undefined,
    secretTexts,
  };
}
