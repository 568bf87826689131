import { samples } from "../../../tools/schema/samples.ts";
import {
  entryOf,
  extra,
  literal,
  missing,
  nonEmptyString,
  requestUrl,
  requiredString,
  urlsInRequests,
  type CorpusEntry,
} from "./corpus-values.js";

const keyOnly: Pick<CorpusEntry, "accepted" | "rejected"> = {
  accepted: { ChaveApi: ["k", " ", "ключ"] },
  rejected: {
    ChaveApi: nonEmptyString,
    ...extra,
    webhook_url: ["https://chat.example"],
    email: ["a@b.example"],
  },
};

const configuration = samples.WebhookConfiguration;
/** Requests and answers of the registration interface, and the handshake (sections 2.1, 2.2, 4.1 and 6.1). */
export const registrationCorpus: readonly CorpusEntry[] = [
  entryOf("GetWebhookRequest", "registration-requests", keyOnly),
  entryOf("SetWebhookRequest", "registration-requests", {
    accepted: { webhook_url: urlsInRequests, webhook_verification_key: ["s"] },
    rejected: {
      ChaveApi: nonEmptyString,
      webhook_url: requestUrl,
      webhook_verification_key: nonEmptyString,
      ...extra,
      workspace_id: [7],
    },
  }),
  entryOf("DeleteWebhookRequest", "registration-requests", keyOnly),
  entryOf("WebhookConfiguration", "webhook-configuration", {
    accepted: {
      workspace: ["acme", null],
      webhook_status: ["", "pending"],
      webhook_url: [""],
      bot_url: [""],
      webhook_verification_key: ["", "****"],
    },
    rejected: {
      webhook_url: requiredString,
      webhook_verification_key: requiredString,
      webhook_status: requiredString,
      bot_url: requiredString,
    },
  }),
  entryOf("RegistrationEnvelope", "registration-envelope", {
    accepted: {
      status: ["error", ""],
      data: [missing, null, [], {}],
      "data.webhook_url": [missing, null, "", "not a URL"],
      "data.webhook_verification_key": [missing, null, "", "****"],
      "data.webhook_status": [missing, null, "", "pending"],
      "data.bot_url": [missing, null, ""],
      "data.workspace": ["acme"],
      trace: [{ id: 1 }],
    },
    rejected: {
      status: requiredString,
      data: ["", "x", 5, true, [1], [configuration]],
      "data.webhook_url": [5, true, [], {}],
      "data.webhook_verification_key": [5, true, [], {}],
      "data.webhook_status": [5, true, [], {}],
      "data.bot_url": [5, true, [], {}],
    },
  }),
  entryOf("HandshakeParameters", "handshake", {
    accepted: { hub_challenge: ["0", "a b"], hub_other: ["x"] },
    rejected: {
      hub_mode: literal("subscribe"),
      hub_verify_token: nonEmptyString,
      hub_challenge: nonEmptyString,
    },
  }),
];
