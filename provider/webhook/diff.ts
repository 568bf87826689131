import { isDeepStrictEqual } from "node:util";
import { isLastApiKey, isOurUrl, isSameUrl } from "./fence.js";
import { formatHiddenUrl } from "./hidden-url.js";
import { UNKNOWN } from "../resource/unknown.js";
import { VERIFIED, type WebhookInputs, type WebhookState } from "./inputs.js";
import { claimBot } from "./managed.js";
import { say } from "../resource/progress.js";
import { removalCommand } from "../errors/index.js";
import { defaultApiKey } from "./settings.js";

export interface DiffResult {
  changes: boolean;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

const COMPARED = [
  "name",
  "baseUrl",
  "webhookUrl",
  "webhookVerificationKey",
  "apiKey",
  "onExisting",
  "preflight",
  "timeouts",
] as const;

/**
 * Says whether update has something to do. Nothing ever replaces: one changed variable would delete every production
 * webhook. A secret that changes is named in a line of its own, because a preview does not mark it. A new name, given by an
 * alias, is recorded, so that a destroy names the resource that the program knows.
 */
export function diffWebhook(state: WebhookState, inputs: WebhookInputs): DiffResult {
  claimBot(state.applied.botUrl, { name: inputs.name, since: state.applied.since });
  const changed = COMPARED.filter((name) => !isDeepStrictEqual(state[name], inputs[name]));
  for (const name of ["webhookUrl", "baseUrl"] as const) {
    if (changed.includes(name)) sayHiddenUrl(inputs.name, name, [state[name], inputs[name]]);
  }
  if (changed.includes("webhookVerificationKey")) say(inputs.name, "webhookVerificationKey changes");
  if (state.keyDrifted) say(inputs.name, describeDriftedKey(state, inputs));
  const hasNewApiKey = isNewApiKey(state, inputs);
  if (changed.includes("apiKey")) say(inputs.name, "apiKey changes");
  else if (hasNewApiKey) say(inputs.name, "the API key is not the one last used; pulumi up tries it");
  const isUnfinished =
    state.status !== VERIFIED || state.keyDrifted === true || state.applied.attempted !== undefined;
  const hasMovedBot = state.botUrl !== state.applied.botUrl;
  return {
    changes: changed.length > 0 || hasNewApiKey || isUnfinished || hasMovedBot,
    replaces: [],
    deleteBeforeReplace: true,
  };
}

/** A key from the environment or the configuration is no input, so it is compared with the one that last reached the workspace. */
function isNewApiKey(state: WebhookState, { apiKey = defaultApiKey() }: WebhookInputs): boolean {
  return apiKey !== undefined && apiKey !== UNKNOWN && !isLastApiKey(apiKey, state);
}

/** The same rule as in update.ts: another URL with another key is somebody else's. */
function describeDriftedKey(state: WebhookState, { webhookUrl, onExisting }: WebhookInputs): string {
  const isOurs = isOurUrl(state.webhookUrl, state.applied) || isSameUrl(state.webhookUrl, webhookUrl);
  return isOurs || onExisting === "replace"
    ? "webhookVerificationKey: the service holds another key; pulumi up sets ours again"
    : `the service holds another URL and another key, so somebody else's webhook: pulumi up stops with a conflict. If it may go: ${removalCommand(state)}; then run pulumi up again`;
}

/** A URL with a query is a secret, see webhook.ts; without one the preview itself shows the change. */
function sayHiddenUrl(name: string, property: "webhookUrl" | "baseUrl", urls: [string, string]): void {
  if (!urls.some((url) => url.includes("?"))) return;
  const known = urls.map((url) => (url === UNKNOWN ? undefined : url));
  say(name, formatHiddenUrl(property, known));
}
