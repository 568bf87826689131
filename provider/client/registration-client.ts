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
import type { Retry } from "../lib/retry.js";
import { call, parseJson, type AttemptFailure, type Outcome } from "./call.js";
import {
  bearerHeaders,
  DEFAULT_REQUEST_SECONDS,
  invalidOptions,
  registrationOptions,
  type ApiKeyAs,
} from "./options.js";

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

/** The body of a request (section 4.1). */
export interface RegistrationBody {
  ChaveApi: string;
  webhook_url?: string;
  webhook_verification_key?: string;
}

export interface SetWebhookOptions extends CallOptions {
  webhookUrl: string;
  webhookVerificationKey: string;
  /**
   * Until when a rejection by the service is retried, in milliseconds of `performance.now()`: it may see the endpoint later than
   * this machine does. Each attempt then has the whole time limit. Default: a rejection is final.
   */
  retryRejectedUntil?: number;
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
    return this.call("get-webhook", body, options);
  }

  /** Registers a webhook. The service calls `webhookUrl` before it answers (section 6.1). */
  async setWebhook(options: SetWebhookOptions): Promise<Registration | undefined> {
    const body = this.#build("set-webhook", setWebhookRequest, {
      ChaveApi: this.#options.apiKey,
      webhook_url: options.webhookUrl,
      webhook_verification_key: options.webhookVerificationKey,
    });
    return this.call("set-webhook", body, options);
  }

  /** Removes the registration, whoever set it. Returns what is still registered: undefined on success. */
  async deleteWebhook(options: CallOptions = {}): Promise<Registration | undefined> {
    const body = this.#build("delete-webhook", deleteWebhookRequest, { ChaveApi: this.#options.apiKey });
    return this.call("delete-webhook", body, options);
  }

  /**
   * Builds and validates a request body. Throws `invalid_config` with the names of invalid fields, never their values.
   */
  #build<T>(operation: RegistrationAction, schema: z.ZodType<T>, fields: T): T {
    const { data, problems } = parse(schema, fields);
    if (problems === undefined) return data;
    throw invalidOptions(operation, problems, operation);
  }

  /** One call with its retries. */
  protected async call(
    operation: RegistrationAction,
    body: RegistrationBody,
    { signal, beforeRepeat, retryRejectedUntil }: CallOptions & Partial<SetWebhookOptions>,
  ): Promise<Registration | undefined> {
    const { baseUrl, dispatcher, onRetry } = this.#options;
    const url = this.#urlOf(operation);
    const redact = lazyRedactor(() => [
      body.ChaveApi,
      body.webhook_verification_key ?? "",
      ...this.#secretsOfBaseUrl,
      ...secretsOfUrl(body.webhook_url ?? ""),
    ]);
    const { result } = await call<Registration | undefined>({
      operation,
      url,
      at: () => formatUrl(baseUrl),
      addressOption: "baseUrl",
      message: body,
      headers: this.#headers,
      redact,
      limitMs: this.#requestMs,
      signal: anySignal(signal, this.#options.signal),
      dispatcher,
      beforeRepeat:
        beforeRepeat && (async () => ((await beforeRepeat()) ? undefined : { result: undefined })),
      read: ({ status, text }) => {
        const parsed = parseJson(text, status, redact);
        return "failure" in parsed ? parsed : readEnvelope(parsed.result, redact);
      },
      judge: judgeOn(url, retryRejectedUntil),
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

/** Rejections of the address or the form of a request: repeating it changes nothing. */
const LASTING_REJECTIONS = new Set([404, 405, 410, 413, 415]);

/** Whether the service may accept later what it rejected: the endpoint may not be reachable for it yet. */
export const mayBeAccepted = ({ code, httpStatus }: Pick<AttemptFailure, "code" | "httpStatus">): boolean =>
  code === "rejected" && !LASTING_REJECTIONS.has(httpStatus ?? 0);

/** Judges the failures of one call, and gives up early on an address of this machine where nothing listens. */
function judgeOn(url: URL, retryUntil: number | undefined): (failure: AttemptFailure) => AttemptFailure {
  let refused = 0;
  return (failure) => {
    if (retryUntil !== undefined && mayBeAccepted(failure)) return { ...failure, retry: true, retryUntil };
    if (isAbsentHere(url, failure)) refused += 1;
    return refused < MAX_REFUSED_ATTEMPTS ? failure : { ...failure, retry: false };
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
function readEnvelope(answer: unknown, redact: Redact): Outcome<Registration | undefined> {
  const envelope = registrationEnvelope.safeParse(answer);
  return envelope.success && envelope.data.status === "ok"
    ? { result: toRegistration(readRegistration(envelope.data.data)) }
    : { failure: notOk(answer, redact) };
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

function notOk(answer: unknown, redact: Redact): AttemptFailure {
  const said = quoteBody(JSON.stringify(answer), redact);
  const { data } = envelopeStatus.safeParse(answer);
  return data && data.status !== "ok"
    ? { code: "rejected", text: `the service responded: ${said}`, retry: false }
    : {
        code: "protocol",
        text: `the response does not have the specified envelope: ${said}`,
        retry: false,
        mayHaveBeenAccepted: true,
      };
}
