import type { Registration } from "../client/internal.js";
import { ApiChatError, type Hint } from "../errors/index.js";
import { botCodeOf, formatUrl, hideQuery, isSameBot } from "../lib/url.js";
import { type Ours, isLastApiKey, isOurs, showsOurKey } from "./applied.js";
import { type WantedWebhook, hasWantedUrl } from "./wanted.js";

/** `holder` is the resource of this stack that registered the existing webhook, if known. */
export function rejectForeign(seen: Registration, wanted: WantedWebhook, holder?: string): void {
  const { baseUrl, onExisting } = wanted;
  if (onExisting === "replace" || hasWantedUrl(seen, wanted)) return;
  const at = formatUrl(baseUrl);
  const registered = formatUrl(seen.webhookUrl);
  const whose = holder === undefined ? "" : `, registered by this stack's own resource "${holder}"`;
  throw new ApiChatError(
    "conflict",
    `${at} already has a webhook, ${registered}${whose}; nothing was written`,
    {
      operation: "set-webhook",
      facts: { at, registered },
      hints: [removeOther(baseUrl, seen.webhookUrl), { id: "take_over" }, { id: "own_webhook" }],
    },
  );
}

/**
 * Throws `conflict` if someone else's webhook took the place of ours. A webhook with our key but another URL is ours,
 * changed by hand. It is repaired only if a refresh found it (`shownUrl`), because then the preview shows the change.
 */
export function rejectTakeover(
  seen: Registration,
  { shownUrl, ...ours }: Ours & { shownUrl: string },
  wanted: WantedWebhook,
): void {
  if (wanted.onExisting === "replace") return;
  const hasOurKey = showsOurKey(seen, ours);
  const isShownDrift = hasOurKey && hideQuery(seen.webhookUrl) === shownUrl;
  if (isOurs(seen, ours.applied) || hasWantedUrl(seen, wanted) || isShownDrift) return;
  const at = formatUrl(wanted.baseUrl);
  const registered = formatUrl(seen.webhookUrl);
  const whose = hasOurKey ? "" : ". Its key is not ours either, so the webhook is someone else's";
  const summary =
    `${at} now has the webhook ${registered}, not ${formatUrl(ours.applied.url)}; ` +
    `nothing was written${whose}`;
  const hints: Hint[] = hasOurKey
    ? [{ id: "refresh_first" }]
    : [removeOther(wanted.baseUrl, seen.webhookUrl), { id: "take_over" }];
  throw new ApiChatError("conflict", summary, { operation: "set-webhook", facts: { at, registered }, hints });
}

export const removeOther = (baseUrl: string, webhookUrl: string): Hint => ({
  id: "remove_other",
  baseUrl: formatUrl(baseUrl),
  webhookUrl: formatUrl(webhookUrl),
});

export const isSameWorkspace = (seen: Registration | undefined, apiKey: string, ours: Ours): boolean =>
  isLastApiKey(apiKey, ours) || (seen !== undefined && isSameBot(seen.botUrl, ours.applied.botUrl));

/** An empty workspace shows no bot code, so only an unchanged base URL and API key prove that it is the same one. */
export function requireSameWorkspace(
  { seen, apiKey }: { seen: Registration | undefined; apiKey: string },
  ours: Ours,
  { baseUrl, operation }: { baseUrl: string; operation: "get-webhook" | "set-webhook" },
): void {
  const at = formatUrl(baseUrl);
  const expectedBot = botCodeOf(ours.applied.botUrl);
  const hints: Hint[] = [{ id: "other_workspace" }];
  if (seen?.botUrl === "") {
    const summary = `${at} returned a webhook without bot_url, so its bot cannot be identified`;
    throw new ApiChatError("protocol", summary, { operation, facts: { at } });
  }
  if (seen && !isSameBot(seen.botUrl, ours.applied.botUrl)) {
    const bot = botCodeOf(seen.botUrl);
    const summary = `${at} now reaches the bot ${bot}, not ${expectedBot}: nothing was written`;
    throw new ApiChatError("conflict", summary, { operation, facts: { at, bot, expectedBot }, hints });
  }
  if (!seen && (baseUrl !== ours.baseUrl || !isLastApiKey(apiKey, ours))) {
    const summary =
      `${at} has no webhook, and the base URL or API key differs from the one last used: ` +
      `this may no longer be the workspace of the bot ${expectedBot}, so nothing was written`;
    throw new ApiChatError("conflict", summary, { operation, facts: { at, expectedBot }, hints });
  }
}
