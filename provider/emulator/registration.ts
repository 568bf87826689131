import type { SetWebhookRequest, WebhookConfiguration } from "../../schema/index.js";
import type { Settings } from "./options.js";
import type { BeforeFirstSet } from "./switches.js";
import type { HandshakeRecord } from "./records.js";
import { Refusal, refuseFields } from "./refusal.js";
import {
  botUrlOf,
  currentRegistration,
  register,
  unregister,
  type WorkspaceState,
} from "./workspace-state.js";

/** The answer of an operation that succeeded (section 2.2). */
export interface Envelope {
  status: string;
  data?: unknown;
}

/** Performs the handshake of one set-webhook. */
export type Handshake = (webhookUrl: string, verificationKey: string) => Promise<HandshakeRecord>;

/** get-webhook (section 4.1): what stands there, or what `beforeFirstSet` says. */
export function getWebhook(state: WorkspaceState, settings: Settings): Envelope {
  if (!state.everSet) return answerBeforeFirstSet(settings.beforeFirstSet);
  return { status: "ok", data: presentConfiguration(state, settings) };
}

/** set-webhook (section 4.1): handshake first, then the registration; a failed handshake does as `failedHandshake` says. */
export async function setWebhook(
  state: WorkspaceState,
  body: Omit<SetWebhookRequest, "ChaveApi">,
  settings: Settings,
  handshake: Handshake,
): Promise<Envelope> {
  const { webhook_url, webhook_verification_key } = body;
  const { verdict, reason } = await handshake(webhook_url, webhook_verification_key);
  if (verdict === "passed") {
    const { statusAfterSet, verifyAfterMs } = settings;
    const verifiesAtMs = verifyAfterMs === undefined ? undefined : Date.now() + verifyAfterMs;
    register(state, { webhook_url, webhook_verification_key, webhook_status: statusAfterSet }, verifiesAtMs);
  } else if (settings.failedHandshake === "unverified") {
    register(state, { webhook_url, webhook_verification_key, webhook_status: "failed" });
  } else {
    if (settings.failedHandshake === "clears") unregister(state);
    throw refuseFields({ webhook_url: [`the verification handshake failed: ${reason}`] });
  }
  return { status: "ok", data: presentConfiguration(state, settings) };
}

/** delete-webhook (section 4.1): the four fields are empty strings from now on. */
export function deleteWebhook(state: WorkspaceState, settings: Settings): Envelope {
  unregister(state);
  return { status: "ok", data: presentConfiguration(state, settings) };
}

/** The whole configuration as it is held (section 2.1), the key in clear, or undefined if nothing is registered. */
export function readConfiguration(state: WorkspaceState): WebhookConfiguration | undefined {
  const registration = currentRegistration(state);
  return registration && { ...registration, bot_url: botUrlOf(state) };
}

const nothing: WebhookConfiguration = {
  webhook_url: "",
  webhook_verification_key: "",
  webhook_status: "",
  bot_url: "",
};

function answerBeforeFirstSet(reading: BeforeFirstSet): Envelope {
  if (reading === "not-found") throw new Refusal(404, "no webhook is registered");
  const data = {
    "empty-strings": nothing,
    "null-fields": mapToNull(nothing),
    nulls: null,
    "empty-array": [],
    missing: undefined,
  };
  return { status: "ok", data: data[reading] };
}

function mapToNull(configuration: WebhookConfiguration): Record<string, null> {
  return Object.fromEntries(Object.keys(configuration).map((field) => [field, null]));
}

/** The configuration as answers show it. */
function presentConfiguration(state: WorkspaceState, settings: Settings): WebhookConfiguration {
  const configuration = readConfiguration(state);
  if (!configuration) return nothing;
  const { webhook_url, webhook_verification_key } = configuration;
  return {
    ...configuration,
    webhook_url: settings.normalizeUrl ? normalizeUrl(webhook_url) : webhook_url,
    webhook_verification_key: settings.maskKey ? maskKey(webhook_verification_key) : webhook_verification_key,
  };
}

function maskKey(key: string): string {
  return key.length < 8 ? "********" : `${key.slice(0, 2)}********${key.slice(-2)}`;
}

/** Parsing lowers the host and drops a default port. */
function normalizeUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  return `${url.origin}${url.pathname.replace(/\/$/, "")}${url.search}`;
}
