import { readRegistration } from "../webhook/observe.js";
import { defaultApiKey, defaultBaseUrl } from "../webhook/run.js";
import type { Values } from "./wire.js";

/** The function `getApiChatWebhook`. The API key is secret, but the result is not. */
export const getApiChatWebhook = (args: Values, signal: AbortSignal): Promise<object> =>
  readRegistration({
    baseUrl: textOf(args["baseUrl"]) ?? defaultBaseUrl(),
    apiKey: textOf(args["apiKey"]) ?? defaultApiKey(),
    signal,
  });

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
