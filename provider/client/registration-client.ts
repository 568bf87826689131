import type { Dispatcher } from "undici";
import type * as z from "zod";
import {
  deleteWebhookRequest,
  getWebhookRequest,
  readRegistration,
  registrationEnvelope,
  setWebhookRequest,
  type RegistrationAction,
  type WebhookConfiguration,
} from "../../schema/registration.js";
import type { ApiChatError, ApiChatOperation, Hint } from "../errors/index.js";
import { lazyRedactor, quoteBody, type Redact } from "../lib/redact.js";
import { appendQuery, isLoopback, formatUrl, secretsOfUrl } from "../lib/url.js";
import { parse, problemsOf } from "../lib/validate.js";
import { anySignal } from "../lib/abort.js";
import type { Retry, RetryVerdict } from "../lib/retry.js";
import { AttemptError, attemptPostJson, type AttemptFailure } from "./attempt.js";
import {
  bearerHeaders,
  DEFAULT_REQUEST_SECONDS,
  invalidOptions,
  registrationOptions,
  type ApiKeyAs,
} from "./options.js";
import { runOperation } from "./operation.js";

/** The webhook configuration of one workspace, as the service shows it (section 2.1). */
export interface Registration {
  webhookUrl: string;
  /** As the service shows it; some may mask it. */
  webhookVerificationKey: string;
  /** `verified`, or a value that the specification does not name. */
  status: string;
  botUrl: string;
}

export interface RegistrationClientOptions {
  /** Address of the registration interface; a query of its own is kept. */
  baseUrl: string;
  /** Sent as `ChaveApi` (section 5). It never appears in an error. */
  apiKey: string;
  /** How the API key is presented. Default `body`, in exactly the fields of section 4.1. */
  apiKeyAs?: ApiKeyAs;
  /** The time limit of one operation with its retries, in seconds. Default 30. */
  requestSeconds?: number;
  /** Ends every operation of this client. */
  signal?: AbortSignal;
  /** undici's dispatcher; default is a pool of this process that honours the environment's proxies. */
  dispatcher?: Dispatcher;
  /** Told of each failed attempt that will be repeated. */
  onRetry?: (retry: Retry & { operation: RegistrationAction }) => void;
}

export interface CallOptions {
  /** Ends this operation; the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called before each retry. If it resolves to false, the operation ends with undefined. */
  beforeRepeat?: () => Promise<boolean>;
}

export interface SetWebhookOptions extends CallOptions {
  webhookUrl: string;
  webhookVerificationKey: string;
}

/**
 * Reads, sets and removes the webhook of one workspace (section 4.1). Connection errors, 408, 429, 500, 502, 503 and 504
 * are retried within the time limit; everything else fails at once with an ApiChatError.
 */
export class RegistrationClient {
  readonly #options: RegistrationClientOptions;
  readonly #requestMs: number;
  /** The address of each action, once it was called. */
  readonly #urls = new Map<RegistrationAction, URL>();
  readonly #secretsOfBaseUrl: readonly string[];
  readonly #headers: Record<string, string>;

  constructor(options: RegistrationClientOptions) {
    requireOptions(options);
    this.#options = options;
    this.#secretsOfBaseUrl = secretsOfUrl(options.baseUrl);
    this.#headers = options.apiKeyAs === "body-and-bearer" ? bearerHeaders(options.apiKey) : {};
    this.#requestMs = (options.requestSeconds ?? DEFAULT_REQUEST_SECONDS) * 1000;
  }

  /** Reads the registration; undefined if nothing is registered. */
  async getWebhook(options: CallOptions = {}): Promise<Registration | undefined> {
    const body = this.#build("get-webhook", getWebhookRequest, { ChaveApi: this.#options.apiKey });
    return this.#call("get-webhook", body, options);
  }

  /** Registers a webhook. The service calls `webhookUrl` before it answers (section 6.1). */
  async setWebhook(options: SetWebhookOptions): Promise<Registration | undefined> {
    const body = this.#build("set-webhook", setWebhookRequest, {
      ChaveApi: this.#options.apiKey,
      webhook_url: options.webhookUrl,
      webhook_verification_key: options.webhookVerificationKey,
    });
    return this.#call("set-webhook", body, options);
  }

  /** Removes the registration, whoever set it. Returns what is still registered: undefined on success. */
  async deleteWebhook(options: CallOptions = {}): Promise<Registration | undefined> {
    const body = this.#build("delete-webhook", deleteWebhookRequest, { ChaveApi: this.#options.apiKey });
    return this.#call("delete-webhook", body, options);
  }

  /**
   * Builds and validates a request body. Throws `invalid_config` with the names of invalid fields, never their values.
   */
  #build<T>(operation: RegistrationAction, schema: z.ZodType<T>, fields: T): T {
    const { data, problems } = parse(schema, fields);
    if (problems === undefined) return data;
    throw invalidOptions(operation, problems, operation);
  }

  async #call(
    operation: RegistrationAction,
    body: { ChaveApi: string; webhook_url?: string; webhook_verification_key?: string },
    { signal, beforeRepeat }: CallOptions,
  ): Promise<Registration | undefined> {
    const { baseUrl, dispatcher, onRetry } = this.#options;
    const url = this.#urlOf(operation);
    const redact = lazyRedactor(() => [
      body.ChaveApi,
      body.webhook_verification_key ?? "",
      ...this.#secretsOfBaseUrl,
      ...secretsOfUrl(body.webhook_url ?? ""),
    ]);
    const ending = anySignal(signal, this.#options.signal);
    const { result } = await runOperation<Registration | undefined>({
      name: operation,
      origin: url.origin,
      at: () => formatUrl(baseUrl),
      limitMs: this.#requestMs,
      signal: ending,
      beforeRepeat:
        beforeRepeat && (async () => ((await beforeRepeat()) ? undefined : { result: undefined })),
      send: async (timeoutMs) => {
        const answer = await attemptPostJson(url, body, {
          dispatcher,
          signal: ending,
          timeoutMs,
          redact,
          addressOption: "baseUrl",
          headers: this.#headers,
        });
        return readEnvelope(answer, redact);
      },
      judge: judgeOn(url),
      onRetry: (retry) => onRetry?.({ ...retry, operation }),
      hintsFor: (failure) =>
        isAbsentHere(url, failure)
          ? [{ id: "start_emulator", address: "baseUrl" }]
          : hintsFor(operation, failure),
    });
    return result;
  }

  #urlOf(operation: RegistrationAction): URL {
    let url = this.#urls.get(operation);
    if (!url) {
      url = new URL(appendQuery(this.#options.baseUrl, `action=${operation}`));
      this.#urls.set(operation, url);
    }
    return url;
  }
}

/** Throws `invalid_config` naming the options that are wrong, and no value of a secret. */
function requireOptions(options: RegistrationClientOptions): void {
  const problems = problemsOf(registrationOptions, options);
  const hints: Hint[] = options.apiKey ? [] : [{ id: "give_api_key" }];
  if (problems.length > 0) throw invalidOptions("RegistrationClient", problems, "check", hints);
}

/**
 * Whether a failure may mean that the API key is wrong. The specification shows no errors (section 7): a service may refuse
 * a key with HTTP 200 and another envelope status than `ok`, and a read has little else to refuse.
 */
export const mayMeanWrongKey = ({ code, operation, httpStatus }: ApiChatError): boolean =>
  code === "unauthorized" || isRefusedRead(operation, { code, httpStatus });

const isRefusedRead = (
  operation: ApiChatOperation,
  { code, httpStatus }: Pick<ApiChatError, "code"> & { httpStatus?: number | undefined },
): boolean => operation === "get-webhook" && code === "rejected" && httpStatus === undefined;

const FORGET_WORKSPACE: Hint = { id: "forget_workspace" };

/** Nothing listens at an address of this machine, such as an emulator that was not started. */
const isAbsentHere = ({ hostname }: URL, { connection }: AttemptFailure): boolean =>
  connection === "ECONNREFUSED" && isLoopback(hostname);

/** About three seconds: an emulator that is starting needs no more. */
const MAX_REFUSED_ATTEMPTS = 5;

/** Judges the failures of one operation, and gives up early on an address of this machine where nothing listens. */
function judgeOn(url: URL): (failure: AttemptFailure) => RetryVerdict {
  let refused = 0;
  return (failure) => {
    if (isAbsentHere(url, failure)) refused += 1;
    return refused < MAX_REFUSED_ATTEMPTS ? failure : { retry: false };
  };
}

function hintsFor(operation: RegistrationAction, { code, httpStatus }: AttemptFailure): Hint[] {
  if (code === "timeout") return [{ id: "raise_request_seconds" }];
  if (code === "unauthorized") return [{ id: "give_api_key" }];
  if (isRefusedRead(operation, { code, httpStatus }))
    return [{ id: "check_api_key" }, { id: "give_api_key" }];
  if (code === "rejected" && (httpStatus === 404 || httpStatus === 405 || httpStatus === 410)) {
    return [{ id: "check_base_url" }, ...(operation === "get-webhook" ? [FORGET_WORKSPACE] : [])];
  }
  if (code === "unavailable" && httpStatus === undefined) {
    return [{ id: "check_connection", address: "baseUrl" }];
  }
  return [];
}

/** Takes the registration out of an envelope (section 2.2). A `status` other than `ok` is the service's refusal. */
function readEnvelope(answer: unknown, redact: Redact): Registration | undefined {
  const envelope = registrationEnvelope.safeParse(answer);
  if (!envelope.success || envelope.data.status !== "ok") throw notOk(answer, redact);
  return toRegistration(readRegistration(envelope.data.data));
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

const envelopeStatus = registrationEnvelope.pick({ status: true });

function notOk(answer: unknown, redact: Redact): AttemptError {
  const said = quoteBody(JSON.stringify(answer), redact);
  const { data } = envelopeStatus.safeParse(answer);
  return data && data.status !== "ok"
    ? new AttemptError({ code: "rejected", retry: false }, `the service answered: ${said}`)
    : new AttemptError(
        { code: "protocol", retry: false },
        `the response does not have the specified envelope: ${said}`,
      );
}
