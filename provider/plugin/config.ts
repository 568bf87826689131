import { checkSecret, checkUrl, type CheckFailure } from "../lib/checks.js";
import type { Path, Values } from "./wire.js";

// The configuration of the provider: what resources take that give no `baseUrl` or `apiKey` of their own.

const NAMES = ["baseUrl", "apiKey"];

export const SECRET_CONFIG: readonly Path[] = [["apiKey"]];

/** Finds everything that is wrong. What is not given, a resource may give. */
export const checkConfig = ({ baseUrl, apiKey }: Values): CheckFailure[] => [
  ...(baseUrl === undefined ? [] : checkUrl("baseUrl", baseUrl, "https://platform.example/acme/apichat")),
  ...(apiKey === undefined ? [] : checkSecret("apiKey", apiKey, "copy it again from the platform's support")),
];

/**
 * The names that change. A changed provider never replaces its resources. Compared are these names alone: at the first `up`
 * after a move from the dynamic provider the old ones are that provider's.
 */
export const changedConfig = (olds: Values, news: Values): string[] =>
  NAMES.filter((name) => olds[name] !== news[name]);

/** The configuration by the names of a stack's configuration. An empty text counts as not given. */
export const toStackConfig = (values: Values): { get(key: string): string | undefined } => ({
  get: (key) => {
    const value = values[key.replace(/^apichat:/, "")];
    return typeof value === "string" ? value : undefined;
  },
});
