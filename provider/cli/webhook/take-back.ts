import { ApiChatError, type Registration } from "../../client/index.js";
import { printUrl, isSameBot, isSameUrl } from "../../lib/url.js";
import { removeRegistration } from "../../webhook/delete.js";
import { textOf } from "../report-error.js";
import { describeOtherBot, type Access } from "./access.js";

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
    `${printUrl(access.baseUrl)} is another workspace: ${otherBot}. This shows only after set-webhook; ${standing}`,
    { operation: "set-webhook", hints: [{ id: "name_workspace" }] },
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
    if (now !== undefined) await removeRegistration({ client, baseUrl, mayGo: isOurs });
    return "what was set was removed again, and nothing is registered there now";
  } catch (error) {
    const reason = textOf(error);
    return `${describe(seen)} was set and could not be removed again (${reason}); apichat webhook delete removes it`;
  }
}

const describe = ({ webhookUrl }: Registration): string => printUrl(webhookUrl);
