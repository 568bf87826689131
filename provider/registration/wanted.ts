import type { Registration } from "../client/internal.js";
import { isSameUrl } from "../lib/url.js";

/** What create does if a different URL is registered for the workspace. */
export type OnExisting = "fail" | "replace";

/** Whether the provider performs the handshake itself before set-webhook. */
export type Preflight = "require" | "warn" | "off";

/** The only `webhook_status` of the specification that means success (section 3). */
export const VERIFIED = "verified";

export interface WantedWebhook {
  /** The resource's name, for messages. */
  name: string;
  baseUrl: string;
  webhookUrl: string;
  webhookVerificationKey: string;
  onExisting?: OnExisting;
  preflight?: Preflight;
  timeouts?: { requestSeconds?: number; readySeconds?: number };
}

export const hasWantedUrl = (seen: Pick<Registration, "webhookUrl">, wanted: WantedWebhook): boolean =>
  isSameUrl(seen.webhookUrl, wanted.webhookUrl);

export const showsWanted = (shown: Registration, wanted: WantedWebhook): boolean =>
  hasWantedUrl(shown, wanted) && shown.botUrl !== "";

export const readySecondsOf = ({ timeouts }: WantedWebhook): number => timeouts?.readySeconds ?? 60;
