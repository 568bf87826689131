import { ApiChatError, type Registration } from "../../client/index.js";
import { printUrl } from "../../lib/url.js";
import { isSameBot, isSameUrl } from "../../webhook/fence.js";
import { removeRegistration } from "../../webhook/remove.js";
import { inFlagWords } from "../flag-words.js";
import { describeOtherBot, type Access } from "./access.js";
import { OF_COMMAND } from "./wording.js";

/**
 * After a first set-webhook: throws `conflict` if another bot than the given one has come out, having removed what was set.
 * It stays where nobody knows what stood there before.
 */
export async function refuseOtherBotAfterSet(
  seen: Registration,
  access: Access,
  mayTakeBack: boolean,
): Promise<void> {
  const otherBot = await describeOtherBot(seen, access);
  if (otherBot === undefined) return;
  const standing = mayTakeBack ? await takeBack(seen, access) : `${describe(seen)} stands there now`;
  throw new ApiChatError(
    "conflict",
    `${printUrl(access.baseUrl)} is another workspace: ${otherBot}. This shows only after set-webhook; ${standing}. Give the base URL and API key of the right workspace, or leave the bot URL out`,
    { operation: "set-webhook" },
  );
}

/** Removes what we have set, and nothing that somebody has set meanwhile. Says what stands there now. */
async function takeBack(seen: Registration, { client, baseUrl }: Access): Promise<string> {
  const isOurs = (now: Registration | undefined): boolean =>
    now !== undefined && isSameUrl(now.webhookUrl, seen.webhookUrl) && isSameBot(now.botUrl, seen.botUrl);
  try {
    const now = await client.getWebhook();
    if (now !== undefined && !isOurs(now))
      return `somebody else has set ${describe(now)} meanwhile, which stands there now`;
    if (now !== undefined) await removeRegistration({ client, baseUrl, mayGo: isOurs, wording: OF_COMMAND });
    return "what was set was removed again, and nothing is registered there now";
  } catch (error) {
    const reason = inFlagWords(error instanceof Error ? error.message : String(error));
    return `${describe(seen)} was set and could not be removed again (${reason}); apichat webhook delete removes it`;
  }
}

const describe = ({ webhookUrl }: Registration): string => printUrl(webhookUrl);
