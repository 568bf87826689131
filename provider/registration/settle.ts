import { isDeepStrictEqual } from "node:util";
import { isRetryableRejection, type Registration } from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { formatUrl } from "../lib/url.js";
import { type Ours, toRestorable } from "./applied.js";
import { VERIFIED, type WantedWebhook, hasWantedUrl, showsWanted } from "./wanted.js";
import type { WorkspaceClient } from "./workspace.js";

export interface SetRequest {
  client: Pick<WorkspaceClient, "getWebhook" | "setWebhook">;
  wanted: WantedWebhook;
  /** The registration before the call. The caller has decided that it may be replaced. */
  seen: Registration | undefined;
  ours?: Ours | undefined;
  signal?: AbortSignal | undefined;
}

export type SetResult = { registration: Registration; failure?: never } | Uncertain;

/** A failure after which the webhook may be registered anyway. */
export interface Uncertain {
  failure: ApiChatError;
  /** The current registration, if the service has returned it with our URL and a bot URL. */
  standing?: Registration | undefined;
  registration?: never;
}

/**
 * After a failed set-webhook, reads the registration once. Returns it if the call took effect and only its
 * response was lost. Throws the failure if the webhook is certainly not registered.
 */
export async function settle(options: SetRequest, error: ApiChatError): Promise<SetResult> {
  const { client, wanted, signal, seen } = options;
  const isEnded = signal?.aborted === true;
  const isAmbiguous = isEnded || error.mayHaveTakenEffect === true;
  const failure = isAmbiguous
    ? withSentence(withRunAgain(error), "The change may still have taken effect")
    : describeRejection(error, wanted);
  if (isEnded) return { failure };
  const isRejected = error.code === "rejected" || error.httpStatus !== undefined;
  if (!isAmbiguous && !isRejected) throw failure;
  let now: Registration | undefined;
  try {
    now = await client.getWebhook();
  } catch (unknown) {
    const reason = unknown instanceof ApiChatError ? unknown.summary : String(unknown);
    return { failure: withSentence(failure, `What is registered now is not known: ${reason}`) };
  }
  if (isAmbiguous && now && showsEffect(now, options)) return { registration: now };
  const { isRestored, failure: settled } = await restore(options, now, failure);
  if (isAmbiguous) return { failure: settled };
  const isLeftBehind = !isRestored && now && showsWanted(now, wanted) && !isDeepStrictEqual(now, seen);
  if (!isLeftBehind) throw settled;
  return { failure: settled, standing: now };
}

const withSentence = (failure: ApiChatError, sentence: string): ApiChatError =>
  failure.with({ summary: `${failure.summary}. ${sentence}` });

/** Adds the hint to run again, unless the code that aborted the operation has already added it. */
export const withRunAgain = (failure: ApiChatError): ApiChatError => withHint(failure, "run_again");

const withHint = (failure: ApiChatError, id: "run_again" | "refresh_owner"): ApiChatError =>
  failure.with({ hints: [...failure.hints.filter((hint) => hint.id !== id), { id }] });

function describeRejection(
  error: ApiChatError,
  { preflight: mode = "require" }: WantedWebhook,
): ApiChatError {
  if (!isRetryableRejection(error)) return error;
  const { summary, attempts, hints } = error;
  const times = attempts === 1 ? "once" : `${attempts} times`;
  const passed = mode === "require" ? ", although the preflight passed" : "";
  return error.with({
    summary: `${summary}; the service rejected the webhook ${times}${passed}`,
    hints: [...hints, ...(mode === "off" ? [{ id: "run_preflight" } as const] : [])],
  });
}

function showsEffect(now: Registration, { wanted, seen, ours }: SetRequest): boolean {
  if (!showsWanted(now, wanted)) return false;
  const hadWantedUrl = seen !== undefined && hasWantedUrl(toRestorable(seen, ours), wanted);
  return !hadWantedUrl || now.webhookVerificationKey === wanted.webhookVerificationKey;
}

/** Tries once to restore the previous verified registration, unless someone else has set another one. */
export async function restore(
  { client, wanted, seen, ours }: SetRequest,
  now: Registration | undefined,
  failure: ApiChatError,
): Promise<{ isRestored: boolean; failure: ApiChatError }> {
  const stays = withSentence(failure, `Registered now: ${describe(now)}`);
  const isLost = !isDeepStrictEqual(now, seen) && (now === undefined || hasWantedUrl(now, wanted));
  if (!isLost || seen?.status !== VERIFIED) return { isRestored: false, failure: stays };
  const { webhookUrl, webhookVerificationKey } = toRestorable(seen, ours);
  let reason = "its key is not known";
  if (webhookVerificationKey !== undefined) {
    try {
      const restored = await client.setWebhook({ webhookUrl, webhookVerificationKey });
      return { isRestored: true, failure: withSentence(failure, `Restored: ${describe(restored)}`) };
    } catch (error) {
      if (!(error instanceof ApiChatError)) throw error;
      reason = error.summary;
    }
  }
  const lost = `${formatUrl(webhookUrl)} was registered before and could not be restored: ${reason}`;
  // A stack's state still shows the webhook as registered, so an up alone may change nothing.
  return { isRestored: false, failure: withHint(withSentence(stays, lost), "refresh_owner") };
}

const describe = (seen: Registration | undefined): string =>
  seen ? `${formatUrl(seen.webhookUrl)}, status "${seen.status}"` : "nothing";
