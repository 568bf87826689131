import {
  readRegistration,
  registrationEnvelope,
  setWebhookRequest,
  type RegistrationAction,
  type SetWebhookRequest,
  type WebhookConfiguration,
} from "../../schema/registration.js";
import { invalidFields, type ApiChatError, type Hint } from "../errors/index.js";
import { createRedactor, quoteBody, type Redact } from "../lib/redact.js";
import { appendQuery, isLoopback, secretsOfUrl } from "../lib/url.js";
import { parse } from "../lib/validate.js";
import { call, hintForConnection, type AttemptFailure, type CallOutcome } from "./call.js";
import {
  bearerHeaders,
  registrationOptions,
  requireOptions,
  type ApiKeyAs,
  type ClientOptions,
} from "./options.js";

/** The webhook configuration of one workspace, as the service returns it (section 2.1). */
export interface Registration {
  /** The registered address; never empty. */
  webhookUrl: string;
  /** The verification key as the service returns it; it may be masked. */
  webhookVerificationKey: string;
  /** `verified`, or a value that is not in the specification. */
  status: string;
  /** The URL for the contacts' messages (section 4.2); empty if the service returns none. */
  botUrl: string;
}

/** The registration interface of one workspace, and its API key. */
export interface RegistrationClientOptions extends ClientOptions {
  /** The address of the registration interface. Its query, if any, is kept. */
  baseUrl: string;
  /** Sent as `ChaveApi` (section 5). It never appears in an error. */
  apiKey: string;
  /** How the API key is sent. Default `body`, exactly as in section 4.1. */
  apiKeyAs?: ApiKeyAs;
}

/** The options of one call. */
export interface CallOptions {
  /** Ends this operation; the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * Called before each retry. If it resolves to false, the operation ends with undefined.
   * @internal
   */
  beforeRepeat?: () => Promise<boolean>;
}

/** The webhook to register. */
export interface SetWebhookOptions extends CallOptions {
  /** Absolute http or https URL of the endpoint that answers the handshake. */
  webhookUrl: string;
  /** The shared secret for handshakes and signatures (section 2.1); not empty. It never appears in an error. */
  webhookVerificationKey: string;
  /**
   * Rejections are retried until this `performance.now()` time, because this machine may be able to reach the
   * endpoint before the service can. If set, each attempt may take the whole time limit. Default: a rejection
   * is final.
   * @internal
   */
  retryRejectedUntil?: number;
}

/**
 * Reads, sets and removes the webhook of one workspace (section 4.1). Connection errors, 408, 429, 500, 502,
 * 503 and 504 are retried within the time limit; everything else fails at once with an ApiChatError.
 */
export class RegistrationClient {
  readonly #options: RegistrationClientOptions;

  constructor(options: RegistrationClientOptions) {
    requireOptions("RegistrationClient", registrationOptions, options, { id: "give_api_key" });
    this.#options = options;
  }

  /** Reads the registration; undefined if nothing is registered. */
  async getWebhook(options: CallOptions = {}): Promise<Registration | undefined> {
    return this.#call("get-webhook", {}, options);
  }

  /**
   * Registers a webhook. The service calls `webhookUrl` before it answers (section 6.1). Resolves to the
   * service's response, even if its `status` is not `verified`, so check the status.
   */
  async setWebhook(options: SetWebhookOptions): Promise<Registration | undefined> {
    const { webhookUrl: webhook_url, webhookVerificationKey: webhook_verification_key } = options;
    const { data, problems } = parse(SET_FIELDS, { webhook_url, webhook_verification_key });
    if (problems) throw invalidFields(problems, { where: "set-webhook", operation: "set-webhook" });
    return this.#call("set-webhook", data, options);
  }

  /** Removes the registration, even one that someone else set. Returns undefined, or what is still registered. */
  async deleteWebhook(options: CallOptions = {}): Promise<Registration | undefined> {
    return this.#call("delete-webhook", {}, options);
  }

  async #call(
    operation: RegistrationAction,
    fields: Partial<Omit<SetWebhookRequest, "ChaveApi">>,
    { signal, beforeRepeat, retryRejectedUntil }: CallOptions & Partial<SetWebhookOptions>,
  ): Promise<Registration | undefined> {
    const { baseUrl, apiKey, apiKeyAs } = this.#options;
    const url = new URL(appendQuery(baseUrl, `action=${operation}`));
    const { webhook_url = "", webhook_verification_key = "" } = fields;
    const redact = createRedactor([
      apiKey,
      webhook_verification_key,
      ...secretsOfUrl(baseUrl),
      ...secretsOfUrl(webhook_url),
    ]);
    const { result } = await call<Registration | undefined>({
      operation,
      url,
      address: baseUrl,
      message: { ChaveApi: apiKey, ...fields },
      headers: apiKeyAs === "body-and-bearer" ? bearerHeaders(apiKey) : {},
      redact,
      options: this.#options,
      signal,
      beforeRepeat:
        beforeRepeat && (async () => ((await beforeRepeat()) ? undefined : { result: undefined })),
      read: (response) => readEnvelope(response, redact),
      judge: judgeOn(url, retryRejectedUntil),
      hintsFor: (failure) => hintsFor(operation, url, failure),
    });
    return result;
  }
}

const SET_FIELDS = setWebhookRequest.omit({ ChaveApi: true });

/**
 * The specification shows no errors (section 7), so a service may reject a key with HTTP 200 and an envelope
 * status other than `ok`. In a get-webhook request, there is hardly anything else to reject.
 */
export const mayMeanWrongKey = ({
  code,
  operation,
  httpStatus,
}: Pick<ApiChatError, "code" | "operation"> & Pick<AttemptFailure, "httpStatus">): boolean =>
  code === "unauthorized" || (operation === "get-webhook" && code === "rejected" && httpStatus === undefined);

/** Whether nothing listens at a local address, for example because the emulator was not started. */
const isAbsentHere = ({ hostname }: URL, { connection }: AttemptFailure): boolean =>
  connection === "ECONNREFUSED" && isLoopback(hostname);

/** Five attempts take about three seconds, which is enough for an emulator to start. */
const MAX_REJECTED_ATTEMPTS = 5;

/** Statuses that reject the address or the format of a request: a retry does not help. */
const LASTING_REJECTIONS = new Set([404, 405, 410, 413, 415]);

/** Whether a retry may succeed: the service may have rejected the request because the endpoint is not up yet. */
export const isRetryableRejection = ({
  code,
  httpStatus,
}: Pick<AttemptFailure, "code" | "httpStatus">): boolean =>
  code === "rejected" && !LASTING_REJECTIONS.has(httpStatus ?? 0);

/** Decides whether a failed call is retried. Gives up early on a local address where nothing listens. */
function judgeOn(url: URL, retryUntil: number | undefined): (failure: AttemptFailure) => AttemptFailure {
  let rejected = 0;
  return (failure) => {
    if (retryUntil !== undefined && isRetryableRejection(failure))
      return { ...failure, retry: true, retryUntil };
    if (isAbsentHere(url, failure)) rejected += 1;
    return rejected < MAX_REJECTED_ATTEMPTS ? failure : { ...failure, retry: false };
  };
}

function hintsFor(operation: RegistrationAction, url: URL, failure: AttemptFailure): Hint[] {
  const { code, httpStatus } = failure;
  if (isAbsentHere(url, failure)) return [{ id: "start_emulator", address: "baseUrl" }];
  if (code === "timeout") return [{ id: "raise_request_seconds" }];
  if (code === "unauthorized") return [{ id: "give_api_key" }, { id: "check_base_url" }];
  if (mayMeanWrongKey({ code, operation, httpStatus }))
    return [{ id: "check_api_key" }, { id: "give_api_key" }];
  if (code === "rejected" && (httpStatus === 404 || httpStatus === 405 || httpStatus === 410)) {
    const forget: Hint[] = operation === "get-webhook" ? [{ id: "forget_workspace" }] : [];
    return [{ id: "check_base_url" }, ...forget];
  }
  const isUnanswered = code === "unavailable" && httpStatus === undefined;
  return isUnanswered ? [hintForConnection(failure, "baseUrl")] : [];
}

const envelopeStatus = registrationEnvelope.pick({ status: true });

/** A `status` other than `ok` means that the service rejected the request (section 2.2). */
function readEnvelope(
  { status: httpStatus, text }: { status: number; text: string },
  redact: Redact,
): CallOutcome<Registration | undefined> {
  const said = (): string => (text.trim() === "" ? "it is empty" : quoteBody(text, redact));
  const protocol = { code: "protocol", httpStatus, retry: false, mayHaveTakenEffect: true } as const;
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    return { failure: { ...protocol, text: `the response is not JSON: ${said()}` } };
  }
  const { data } = registrationEnvelope.safeParse(response);
  if (data?.status === "ok") return { result: toRegistration(readRegistration(data.data)) };
  const { data: rejection } = envelopeStatus.safeParse(response);
  return rejection === undefined || rejection.status === "ok"
    ? { failure: { ...protocol, text: `the response does not have the specified envelope: ${said()}` } }
    : { failure: { code: "rejected", text: `the service responded: ${said()}`, retry: false } };
}

function toRegistration(wire: WebhookConfiguration | undefined): Registration | undefined {
  if (!wire) return undefined;
  return {
    webhookUrl: wire.webhook_url,
    webhookVerificationKey: wire.webhook_verification_key,
    status: wire.webhook_status,
    botUrl: wire.bot_url,
  };
}
