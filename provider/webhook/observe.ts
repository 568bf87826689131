import type { RegistrationAction } from "../../schema/index.js";
import type { ApiKeyAs } from "../client/options.js";
import {
  RegistrationClient,
  mayMeanWrongKey,
  type CallOptions,
  type Registration,
  type RegistrationClientOptions,
} from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { printUrl } from "../lib/url.js";
import { botCodeOf, isLastApiKey, isSameBot } from "./fence.js";
import type { Timeouts, WebhookState } from "./inputs.js";
import { sayIfSlow } from "../resource/progress.js";
import { apiKeyCandidates } from "./settings.js";

/** A client for one workspace that says what it waits for. set-webhook is announced where it is repeated: register.ts. */
export function createClient(
  {
    name,
    baseUrl,
    timeouts,
    apiKeyAs,
  }: { name: string; baseUrl: string; timeouts?: Timeouts; apiKeyAs?: ApiKeyAs },
  apiKey: string,
): RegistrationClient {
  return new AnnouncedClient(name, {
    baseUrl,
    apiKey,
    ...(apiKeyAs === undefined ? {} : { apiKeyAs }),
    ...(timeouts?.requestSeconds === undefined ? {} : { requestSeconds: timeouts.requestSeconds }),
  });
}

class AnnouncedClient extends RegistrationClient {
  readonly #announce: <T>(action: RegistrationAction, call: () => Promise<T>) => Promise<T>;

  constructor(name: string, options: RegistrationClientOptions) {
    let attempt = 1;
    super({ ...options, onRetry: (retry) => (attempt = retry.attempt + 1) });
    this.#announce = (action, call) => {
      attempt = 1;
      return sayIfSlow(
        name,
        () => `waiting for ${action} at ${printUrl(options.baseUrl)}, attempt ${attempt}`,
        call,
      );
    };
  }

  override getWebhook(options?: CallOptions): Promise<Registration | undefined> {
    return this.#announce("get-webhook", () => super.getWebhook(options));
  }

  override deleteWebhook(options?: CallOptions): Promise<Registration | undefined> {
    return this.#announce("delete-webhook", () => super.deleteWebhook(options));
  }
}

export interface Observed {
  seen: Registration | undefined;
  client: RegistrationClient;
  apiKey: string;
}

/** Reads a resource's workspace with the first API key that the service takes: after a rotation that is not the recorded one. */
export async function observe(state: WebhookState): Promise<Observed> {
  const [first = "", ...others] = apiKeyCandidates(state);
  let observed = await tryKey(state, first);
  for (const apiKey of others) {
    if (!(observed instanceof ApiChatError)) break;
    const next = await tryKey(state, apiKey);
    // The refusal of the first key is the one to report.
    if (!(next instanceof ApiChatError)) observed = next;
  }
  if (!(observed instanceof ApiChatError)) return observed;
  throw observed.with({ hints: [...observed.hints, { id: "rotated_api_key" }] });
}

async function tryKey(state: WebhookState, apiKey: string): Promise<Observed | ApiChatError> {
  const client = createClient(state, apiKey);
  try {
    return { seen: await client.getWebhook(), client, apiKey };
  } catch (error) {
    if (error instanceof ApiChatError && mayMeanWrongKey(error)) return error;
    throw error;
  }
}

/**
 * Throws `conflict` if the address and key of today reach another workspace than the recorded one. An empty workspace shows
 * no bot code: only the API key that was used last tells that it is the same.
 */
export function requireSameWorkspace(
  { seen, apiKey }: { seen: Registration | undefined; apiKey: string },
  state: WebhookState,
  { baseUrl, operation }: { baseUrl: string; operation: "get-webhook" | "set-webhook" },
): void {
  const at = printUrl(baseUrl);
  const ours = botCodeOf(state.applied.botUrl);
  if (seen?.botUrl === "") {
    throw new ApiChatError(
      "protocol",
      `${at} shows a webhook without bot_url, so nothing tells whose it is`,
      {
        operation,
      },
    );
  }
  if (seen && !isSameBot(seen.botUrl, state.applied.botUrl)) {
    throw new ApiChatError(
      "conflict",
      `${at} now reaches the bot ${botCodeOf(seen.botUrl)}, not ${ours}: nothing was written`,
      {
        operation,
        facts: { at, bot: botCodeOf(seen.botUrl), expectedBot: ours },
        hints: [{ id: "other_workspace" }],
      },
    );
  }
  if (!seen && (baseUrl !== state.baseUrl || !isLastApiKey(apiKey, state))) {
    throw new ApiChatError(
      "conflict",
      `${at} shows nothing registered, and the address or the API key is another one than the last used: nothing tells whether this is still the workspace of the bot ${ours}, so nothing was written`,
      { operation, facts: { at, expectedBot: ours }, hints: [{ id: "other_workspace" }] },
    );
  }
}
