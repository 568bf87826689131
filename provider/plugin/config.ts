import type { CheckFailure } from "../lib/checks.js";
import { toFailures } from "../lib/provider-process.js";
import type { Path } from "../lib/secret-values.js";
import { mayHoldQuery } from "../lib/url.js";
import { problemsOf } from "../lib/validate.js";
import { DEFAULTS } from "../webhook/inputs.js";
import { SETTINGS, type Configuration } from "../webhook/run.js";
import type { Received, Values } from "./wire.js";

// The provider's configuration: defaults for resources without their own `baseUrl` or `apiKey`.

const NAMES = Object.keys(SETTINGS);

/** The given values. An empty string counts as not given. */
const givenOf = (values: Values): Record<string, string | undefined> =>
  Object.fromEntries(NAMES.map((name) => [name, values[name] === "" ? undefined : (values[name] as string)]));

/** Returns everything that is wrong. A missing value may come from the resource. */
export const checkConfig = (values: Values): CheckFailure[] =>
  toFailures(problemsOf(DEFAULTS, givenOf(values)), NAMES);

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
  const given = givenOf(values);
  return {
    config: { get: (key) => given[key.replace(/^apichat:/, "")] },
    isExplicit: !DEFAULT_PROVIDER.test(name),
    secretBaseUrl: secrets.some(([secret]) => secret === "baseUrl") ? given["baseUrl"] : undefined,
    secretTexts,
  };
}
