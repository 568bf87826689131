import { dirname, join } from "node:path";
import { findProjectFile, readFileIfExists } from "../lib/files.js";
import { printWarning } from "../lib/progress.js";
import { mayHoldQuery } from "../lib/url.js";
import { parseUrn } from "../lib/urn.js";
import { type CheckFailure, problemsOfKnown, toFailures } from "../pulumi/check-and-diff.js";
import type { Path } from "../pulumi/secret-values.js";
import { type Configuration, DEFAULTS, SETTINGS, warningsOfConfiguration } from "../webhook/provider.js";
import type { ReceivedProperties, PropertyValues } from "./wire.js";

// The provider's configuration: defaults for resources without their own `baseUrl` or `apiKey`.

const NAMES = Object.keys(SETTINGS);

/** The engine's name for a provider that the program does not declare; may end with a version. */
const DEFAULT_PROVIDER = /^default(_|$)/;

const givenOf = (values: PropertyValues): Record<string, string | undefined> =>
  Object.fromEntries(NAMES.map((name) => [name, values[name] === "" ? undefined : (values[name] as string)]));

/** Returns all problems. A missing value is accepted, because a resource may provide it. */
export const checkConfig = (values: PropertyValues): CheckFailure[] =>
  toFailures(problemsOfKnown(DEFAULTS, givenOf(values)), NAMES);

export function warnOfConfig(values: PropertyValues, urn: string): void {
  const { name, stack } = parseUrn(urn);
  if (!DEFAULT_PROVIDER.test(name)) return;
  const keys = Object.keys(values).map((key) => `apichat:${key}`);
  const file = readStackFile(stack);
  // The engine does not mark secrets here, so this looks for an unencrypted value in the key's line.
  const isSecret = (key: string): boolean =>
    !new RegExp(`^ +["']?${key}["']?:[ \\t]*[^\\s{]`, "m").test(file);
  for (const { text, hint } of warningsOfConfiguration(keys, isSecret))
    printWarning(name, `${text}; ${hint}`);
}

function readStackFile(stack: string): string {
  const project = findProjectFile();
  return (project && readFileIfExists(join(dirname(project), `Pulumi.${stack}.yaml`))) ?? "";
}

export const secretsOfConfig = ({ baseUrl }: PropertyValues): Path[] => [
  ["apiKey"],
  ...(mayHoldQuery(baseUrl) ? [["baseUrl"]] : []),
];

/**
 * The names of changed inputs. A change never replaces the provider's resources. Compares only the settings, because
 * at the first `up` after a move from the dynamic provider, `olds` holds that provider's inputs.
 */
export const changedConfig = (olds: PropertyValues, news: PropertyValues): string[] =>
  NAMES.filter((name) => olds[name] !== news[name]);

export interface ProviderConfig extends Configuration {
  /** The base URL if it is secret. Check copies it into the stored inputs, where it must stay secret. */
  secretBaseUrl: unknown;
  secretTexts: readonly string[];
}

export function readProviderConfig({ values, secrets, secretTexts }: ReceivedProperties): ProviderConfig {
  const given = givenOf(values);
  return {
    config: { get: (key) => given[key.replace(/^apichat:/, "")] },
    secretBaseUrl: secrets.some(([secret]) => secret === "baseUrl") ? given["baseUrl"] : undefined,
    secretTexts,
  };
}
