import * as shapes from "../../../schema/index.js";
import {
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

const configuration = {
  webhook_url: "https://chat.example/hook",
  webhook_verification_key: "a-verification-key",
  webhook_status: "verified",
  bot_url: "https://bots.example/api/apichat/abc",
};
const tolerantConfiguration = {
  workspace: ["acme", null],
  webhook_status: ["", "pending"],
  webhook_url: [""],
};

/** Requests and answers of the registration interface, and the handshake (sections 2.1, 2.2, 4.1 and 6.1). */
export const registrationCorpus: readonly CorpusEntry[] = [
  {
    shape: {
      name: "GetWebhookRequest",
      ref: "registration-requests.schema.json#/definitions/GetWebhookRequest",
      zod: shapes.getWebhookRequest,
      valid: { ChaveApi: "key" },
    },
    ...keyOnly,
  },
  {
    shape: {
      name: "SetWebhookRequest",
      ref: "registration-requests.schema.json#/definitions/SetWebhookRequest",
      zod: shapes.setWebhookRequest,
      valid: {
        ChaveApi: "key",
        webhook_url: "https://chat.example/hook",
        webhook_verification_key: "secret",
      },
    },
    accepted: { webhook_url: urlsInRequests, webhook_verification_key: ["s"] },
    rejected: {
      ChaveApi: nonEmptyString,
      webhook_url: requestUrl,
      webhook_verification_key: nonEmptyString,
      ...extra,
      workspace_id: [7],
    },
  },
  {
    shape: {
      name: "DeleteWebhookRequest",
      ref: "registration-requests.schema.json#/definitions/DeleteWebhookRequest",
      zod: shapes.deleteWebhookRequest,
      valid: { ChaveApi: "key" },
    },
    ...keyOnly,
  },
  {
    shape: {
      name: "WebhookConfiguration",
      ref: "webhook-configuration.schema.json#",
      zod: shapes.webhookConfiguration,
      valid: configuration,
    },
    accepted: { ...tolerantConfiguration, bot_url: [""], webhook_verification_key: ["", "****"] },
    rejected: {
      webhook_url: requiredString,
      webhook_verification_key: requiredString,
      webhook_status: requiredString,
      bot_url: requiredString,
    },
  },
  {
    shape: {
      name: "RegistrationEnvelope",
      ref: "registration-envelope.schema.json#",
      zod: shapes.registrationEnvelope,
      valid: { status: "ok", data: configuration },
    },
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
  },
  {
    shape: {
      name: "HandshakeParameters",
      ref: "handshake.schema.json#",
      zod: shapes.handshakeParameters,
      valid: { hub_mode: "subscribe", hub_verify_token: "secret", hub_challenge: "c0ffee" },
    },
    accepted: { hub_challenge: ["0", "a b"], hub_other: ["x"] },
    rejected: {
      hub_mode: literal("subscribe"),
      hub_verify_token: nonEmptyString,
      hub_challenge: nonEmptyString,
    },
  },
];
