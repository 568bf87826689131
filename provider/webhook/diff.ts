import { isDeepStrictEqual } from "node:util";
import { isSameUrl } from "./fence.js";
import { formatHiddenUrl } from "./hidden-url.js";
import { UNKNOWN } from "../resource/unknown.js";
import { VERIFIED, type WebhookInputs, type WebhookState } from "./inputs.js";
import { claimBot } from "./managed.js";
import { say } from "../resource/progress.js";

export interface DiffResult {
  changes: boolean;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

const COMPARED = [
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
 * webhook. A secret that changes is named in a line of its own, because a preview does not mark it.
 */
export function diffWebhook(state: WebhookState, inputs: WebhookInputs): DiffResult {
  claimBot(state.applied.botUrl, { name: inputs.name, since: state.applied.since });
  const changed = COMPARED.filter((name) => !isDeepStrictEqual(state[name], inputs[name]));
  for (const name of ["webhookUrl", "baseUrl"] as const) {
    if (changed.includes(name)) sayHiddenUrl(inputs.name, name, [state[name], inputs[name]]);
  }
  if (changed.includes("webhookVerificationKey")) say(inputs.name, "webhookVerificationKey changes");
  if (state.keyDrifted) say(inputs.name, describeDriftedKey(state, inputs));
  if (changed.includes("apiKey")) say(inputs.name, "apiKey changes");
  const isUnfinished = state.status !== VERIFIED || state.keyDrifted === true;
  const hasMovedBot = state.botUrl !== state.applied.botUrl;
  return {
    changes: changed.length > 0 || isUnfinished || hasMovedBot,
    replaces: [],
    deleteBeforeReplace: true,
  };
}

/** The same rule as in update.ts: another URL with another key is somebody else's. */
function describeDriftedKey(state: WebhookState, { webhookUrl, onExisting }: WebhookInputs): string {
  const isForeign = state.webhookUrl !== state.applied.url && !isSameUrl(state.webhookUrl, webhookUrl);
  return isForeign && onExisting !== "replace"
    ? 'the service holds another URL and another key, so somebody else\'s webhook: pulumi up stops with a conflict, unless onExisting is "replace"'
    : "webhookVerificationKey: the service holds another key; pulumi up sets ours again";
}

/** A URL with a query is a secret, see webhook.ts; without one the preview itself shows the change. */
function sayHiddenUrl(name: string, property: "webhookUrl" | "baseUrl", urls: [string, string]): void {
  if (!urls.some((url) => url.includes("?"))) return;
  const known = urls.map((url) => (url === UNKNOWN ? undefined : url));
  say(name, formatHiddenUrl(property, known));
}
