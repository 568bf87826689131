import { ApiChatError } from "../errors/index.js";
import { canonicalUrl } from "./fence.js";
import { SETTINGS, type WebhookState } from "./inputs.js";
import { declaredFor } from "./managed.js";

/** What the engine's `configure` hands over: the stack's configuration, secrets in clear. */
export interface ConfigureRequest {
  config: { get(key: string): string | undefined };
}

let config: ConfigureRequest["config"] | undefined;

/**
 * Takes the stack's configuration. One assignment, because the SDK hands out the provider before it waits for this, and a
 * read may come first.
 */
export function configure(request: ConfigureRequest): void {
  config = request.config;
}

const fromConfig = (key: string): string | undefined => config?.get(key) || undefined;

/** The base URL of a resource that names none: from the stack's configuration, then from the environment. */
export function defaultBaseUrl(): string | undefined {
  return fromConfig(SETTINGS.baseUrl.config) ?? (process.env[SETTINGS.baseUrl.environment] || undefined);
}

/** The API key of a resource that names none: from the environment, then from the stack's configuration. */
export function defaultApiKey(): string | undefined {
  return (process.env[SETTINGS.apiKey.environment] || undefined) ?? fromConfig(SETTINGS.apiKey.config);
}

/** The one API key to write with: the program's, or the default. */
export function apiKeyFor(apiKey: string | undefined): string {
  const key = apiKey ?? defaultApiKey();
  if (key === undefined) throw new ApiChatError("invalid_config", API_KEY_MISSING, { operation: "check" });
  return key;
}

/**
 * The API keys to read and delete with, most likely first: the recorded one, the environment's, the configuration's, and
 * the one that the program of this run declares. After a rotation only some of them are good.
 */
export function apiKeyCandidates(state: WebhookState): string[] {
  const declared = declaredFor(state);
  const isHere =
    declared !== undefined && canonicalUrl(declared.inputs.baseUrl) === canonicalUrl(state.baseUrl);
  const keys = [
    state.apiKey,
    process.env[SETTINGS.apiKey.environment],
    fromConfig(SETTINGS.apiKey.config),
    isHere ? declared.apiKey : undefined,
  ];
  const found = [...new Set(keys.filter((key) => key !== undefined && key !== ""))] as string[];
  if (found.length === 0) throw new ApiChatError("invalid_config", API_KEY_MISSING, { operation: "check" });
  return found;
}

export const API_KEY_MISSING =
  "apiKey: is missing; give the key that the platform's support issued as the argument apiKey, as the environment " +
  "variable APICHAT_API_KEY, or with: pulumi config set --secret apichat:apiKey";

export const BASE_URL_MISSING =
  "baseUrl: is missing; give the address of the workspace's registration interface as the argument baseUrl, with: " +
  "pulumi config set apichat:baseUrl, or as the environment variable APICHAT_BASE_URL";
