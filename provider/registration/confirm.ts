import { isDeepStrictEqual } from "node:util";
import type { Registration } from "../client/internal.js";
import { ApiChatError, type Hint } from "../errors/index.js";
import { sleep } from "../lib/abort.js";
import { printIfSlow } from "../lib/progress.js";
import { backOffMs } from "../lib/retry.js";
import { formatUrl, isSameUrl } from "../lib/url.js";
import { restore, type SetRequest, type SetResult, withRunAgain } from "./settle.js";
import { VERIFIED, type WantedWebhook, readySecondsOf, showsWanted } from "./wanted.js";

/** Remembers, for each origin, whether get-webhook returns the same as set-webhook. */
export class Confirmations {
  readonly #known = new Map<string, Promise<boolean>>();

  /**
   * Confirms the first webhook of an origin. If get-webhook returns the same as set-webhook, the origin's
   * other webhooks are not confirmed. If the confirmation fails, the next webhook is confirmed instead.
   */
  async confirmOnce(
    origin: string,
    registration: Registration,
    look: () => Promise<SetResult>,
  ): Promise<SetResult> {
    const known = this.#known.get(origin);
    if (known !== undefined) return (await known) ? { registration } : look();
    const confirmed = look();
    const forget = (): boolean => !this.#known.delete(origin);
    this.#known.set(
      origin,
      confirmed.then(
        (seen) => (seen.failure ? forget() : isDeepStrictEqual(seen.registration, registration)),
        forget,
      ),
    );
    return confirmed;
  }
}

/** Reads the registration until it is `verified`. On failure, returns the last registration that was read. */
export async function confirmUntilVerified(
  options: SetRequest,
  response: Registration | undefined,
  deadline: number,
): Promise<SetResult> {
  const { client, wanted, signal } = options;
  let shown = response;
  const look = async (): Promise<Registration> =>
    (shown = requireWanted(await client.getWebhook(), shown, wanted));
  try {
    let now = await look();
    const describeWait = (): string => `waiting for status "${VERIFIED}", now "${now.status}"`;
    const wait = async (): Promise<void> => {
      for (let attempt = 1; now.status !== VERIFIED && performance.now() < deadline; attempt += 1) {
        await sleep(Math.min(backOffMs(attempt), deadline - performance.now()), signal);
        now = await look();
      }
    };
    await printIfSlow(wanted.name, describeWait, wait, signal);
    if (now.status === VERIFIED) return { registration: now };
  } catch (error) {
    if (!(error instanceof ApiChatError) || error.code === "conflict") throw error;
    const isKnown = shown && showsWanted(shown, wanted);
    const summary = `set-webhook succeeded but could not be confirmed: ${error.summary}`;
    return { failure: withRunAgain(error).with({ summary }), standing: isKnown ? shown : undefined };
  }
  const summary =
    `the service set the webhook, but its status is "${shown?.status}", not "${VERIFIED}", after ` +
    `${readySecondsOf(wanted)} s`;
  const hints: Hint[] = [{ id: "raise_ready_seconds" }, { id: "run_again" }];
  const late = new ApiChatError("timeout", summary, { operation: "get-webhook", hints });
  const { isRestored, failure } = await restore(options, shown, late);
  if (isRestored) throw failure;
  return { failure, standing: shown };
}

function requireWanted(
  seen: Registration | undefined,
  shown: Registration | undefined,
  { webhookUrl, baseUrl }: WantedWebhook,
): Registration {
  const at = formatUrl(baseUrl);
  const fail = (what: string): ApiChatError =>
    new ApiChatError("protocol", `${at} shows ${what}`, { operation: "get-webhook" });
  if (seen === undefined) throw fail("nothing registered");
  // The service may spell the URL differently; its response to set-webhook shows how.
  if (!isSameUrl(seen.webhookUrl, webhookUrl) && seen.webhookUrl !== shown?.webhookUrl) {
    const registered = formatUrl(seen.webhookUrl);
    const summary =
      `${at} shows ${registered} right after ${formatUrl(webhookUrl)} was set: ` +
      "something else is registering webhooks there too";
    throw new ApiChatError("conflict", summary, { operation: "set-webhook", facts: { at, registered } });
  }
  if (seen.botUrl === "") throw fail("the webhook without bot_url");
  return seen;
}
