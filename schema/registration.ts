import * as z from "zod";
import { named, requestUrl } from "./parts.js";

/** The three operations of the registration interface, as values of the query parameter `action` (section 4.1). */
export type RegistrationAction = "get-webhook" | "set-webhook" | "delete-webhook";

/** What every request contains (section 4.1). */
const common = {
  /**
   * The API key, issued once per external system (section 5). Secret.
   * @minLength 1
   */
  ChaveApi: z.string().min(1),
};

/** The zod schema for {@link GetWebhookRequest}. */
export const getWebhookRequest = z.strictObject(common);

/** The body of get-webhook (section 4.1). Strict: other fields are rejected. */
export interface GetWebhookRequest extends z.infer<typeof getWebhookRequest> {}

/** The zod schema for {@link SetWebhookRequest}. */
export const setWebhookRequest = z.strictObject({
  ...common,
  /**
   * Absolute http or https URL that answers the handshake (section 6.1) and receives deliveries (section 6.2).
   * @pattern ^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#]\S*$
   */
  webhook_url: requestUrl,
  /**
   * Shared secret chosen by the client: the handshake's token, and the key that signs deliveries (section 5). Secret.
   * @minLength 1
   */
  webhook_verification_key: z.string().min(1),
});

/** The body of set-webhook (section 4.1). Strict: other fields are rejected. */
export interface SetWebhookRequest extends z.infer<typeof setWebhookRequest> {}

/** The zod schema for {@link DeleteWebhookRequest}. */
export const deleteWebhookRequest = z.strictObject(common);

/** The body of delete-webhook (section 4.1). Strict: other fields are rejected. */
export interface DeleteWebhookRequest extends z.infer<typeof deleteWebhookRequest> {}

/** The body of any of the three operations. */
export type RegistrationRequest = GetWebhookRequest | SetWebhookRequest | DeleteWebhookRequest;

const configurationOf = <Text extends z.ZodType>(text: Text) => ({
  /** The registered URL, as the service returns it; empty if nothing is registered. */
  webhook_url: text,
  /** The shared secret as the service returns it; may be masked. Secret. */
  webhook_verification_key: text,
  /** `verified` after a successful handshake. Other values are not in the specification, but are accepted. */
  webhook_status: text,
  /** Where the external system posts its messages: `{bot_base_url}/api/apichat/<unique_code_to_bot>`. */
  bot_url: text,
});

/** The zod schema for {@link WebhookConfiguration}. */
export const webhookConfiguration = z.object(configurationOf(z.string()));

/** A webhook configuration (section 2.1). Unknown fields are dropped. After a removal, all four fields are empty. */
export interface WebhookConfiguration extends z.infer<typeof webhookConfiguration> {}

/** The zod schema for {@link AnsweredConfiguration}. */
export const answeredConfiguration = z.object(configurationOf(z.string().nullish()));

/**
 * The `data` of a response. The specification does not show the response for a workspace that never had a
 * webhook, so each field may also be null or missing. Unknown fields are dropped.
 */
export interface AnsweredConfiguration extends z.infer<typeof answeredConfiguration> {}

const answeredData = z
  .union([named<AnsweredConfiguration>(answeredConfiguration), z.tuple([]), z.null()])
  .optional();

/**
 * The zod schema for {@link RegistrationEnvelope}. Pass the `data` to {@link readRegistration}. The specification
 * does not show the shape of an error; to check only `status`, use `registrationEnvelope.pick({ status: true })`.
 */
export const registrationEnvelope = z.object({
  /** `ok` on success. Other values are not in the specification. */
  status: z.string(),
  /** The webhook configuration (section 2.1). */
  data: answeredData,
});

/**
 * The response to any of the three operations (section 2.2). Unknown fields are dropped. If nothing is
 * registered, `data` may be missing, null, `[]`, or an object with empty fields.
 */
export interface RegistrationEnvelope extends z.infer<typeof registrationEnvelope> {}

/**
 * Returns the registration in the `data` of a response. Returns undefined if nothing is registered: `data` is
 * missing, null, `[]` or `{}`, or its `webhook_url` is missing, null or empty. If there is a `webhook_url`, any
 * other field that is missing or null becomes an empty string. Throws a ZodError for any other shape
 * (sections 2.1 and 2.2).
 */
export function readRegistration(data: unknown): WebhookConfiguration | undefined {
  const answered = answeredData.parse(data);
  if (!answered || Array.isArray(answered) || !answered.webhook_url) return undefined;
  return {
    webhook_url: answered.webhook_url,
    webhook_verification_key: answered.webhook_verification_key ?? "",
    webhook_status: answered.webhook_status ?? "",
    bot_url: answered.bot_url ?? "",
  };
}
