import * as z from "zod";
import { problemOfSecret, type CheckFailure } from "../lib/checks.js";
import { toFailures } from "../lib/provider-process.js";
import { mayHoldQuery } from "../lib/url.js";
import { httpUrl, problemsOf, validatedBy } from "../lib/validate.js";
import { configure } from "../webhook/run.js";
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

let secretBaseUrl: unknown;
let secretTexts: readonly string[] = [];

/** What the configuration holds as secret. */
export const secretConfig = (): readonly string[] => secretTexts;

/** The engine's name for a provider that the program does not declare: with the version, if the program names one. */
const DEFAULT_PROVIDER = /^default(_|$)/;

/** Takes the configuration of a provider. */
export function configureProvider({ values, secrets, ...given }: Received, name: string): void {
  secretTexts = given.secretTexts;
  const { baseUrl, apiKey } = givenOf(values);
  secretBaseUrl = secrets.some(([secret]) => secret === "baseUrl") ? baseUrl : undefined;
  const config = { "apichat:baseUrl": baseUrl, "apichat:apiKey": apiKey } as Record<
    string,
    string | undefined
  >;
  configure({ config: { get: (key) => config[key] }, isExplicit: !DEFAULT_PROVIDER.test(name) });
}

/**
 * Whether a base URL must be kept secret. This includes a secret one from the configuration, because check copies it
 * into the stored inputs.
 */
export const isSecretBaseUrl = (baseUrl: unknown): boolean =>
  baseUrl !== undefined && baseUrl === secretBaseUrl;
