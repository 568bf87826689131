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
import { ApiChatError, type ApiChatErrorCode } from "../errors.js";
import { quote } from "../redact.js";
import { appendQuery, printUrl, secretsOfUrl } from "../url.js";
import { anySignal } from "./abort.js";
import { AttemptError, postJson } from "./attempt.js";
import { sharedDispatcher } from "./dispatcher.js";
import { gateOf } from "./origin-gate.js";
import { withRetries, type Retry, type RetryVerdict, type TimeBudget } from "./retry.js";

/** The time that one operation may take, in seconds, with all its retries. */
export const DEFAULT_REQUEST_SECONDS = 30;

const KEY_HINT =
  "The API key is issued by the platform's support when the add-on is enabled, one per external system. " +
  "Give it as apiKey, as APICHAT_API_KEY, or with: pulumi config set --secret apichat:apiKey";

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
  /** Asked before each repetition; if it resolves to false, the operation ends with undefined. */
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

  constructor(options: RegistrationClientOptions) {
    requireOptions(options);
    this.#options = options;
    this.#secretsOfBaseUrl = secretsOfUrl(options.baseUrl);
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

  /** Removes the registration, whoever set it. Gives what is left, which is nothing where it succeeded. */
  async deleteWebhook(options: CallOptions = {}): Promise<Registration | undefined> {
    const body = this.#build("delete-webhook", deleteWebhookRequest, { ChaveApi: this.#options.apiKey });
    return this.#call("delete-webhook", body, options);
  }

  /** The body of a request; throws `invalid_config` naming the fields that are wrong, and none of their values. */
  #build<T>(operation: RegistrationAction, schema: z.ZodType<T>, fields: T): T {
    const parsed = schema.safeParse(fields);
    if (parsed.success) return parsed.data;
    const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new ApiChatError("invalid_config", `${operation}: ${issues.join("; ")}`, { operation });
  }

  async #call(
    operation: RegistrationAction,
    body: { ChaveApi: string; webhook_url?: string; webhook_verification_key?: string },
    { signal, beforeRepeat }: CallOptions,
  ): Promise<Registration | undefined> {
    const ends = anySignal(signal, this.#options.signal);
    const secrets = [
      body.ChaveApi,
      body.webhook_verification_key ?? "",
      ...this.#secretsOfBaseUrl,
      ...secretsOfUrl(body.webhook_url ?? ""),
    ];
    let attempts = 0;
    const attempt = async (number: number, budget: TimeBudget): Promise<Registration | undefined> => {
      if (number > 1 && beforeRepeat && !(await beforeRepeat())) return undefined;
      attempts = number;
      return this.#attempt({ operation, body, secrets, budget, signal: ends });
    };
    try {
      return await withRetries(attempt, {
        limitMs: this.#requestMs,
        signal: ends,
        judge: judgeAttempt,
        onRetry: (retry) => this.#options.onRetry?.({ ...retry, operation }),
      });
    } catch (error) {
      ends.throwIfAborted();
      throw this.#explain(error, operation, attempts);
    }
  }

  async #attempt(call: {
    operation: RegistrationAction;
    body: object;
    secrets: readonly string[];
    budget: TimeBudget;
    signal: AbortSignal;
  }): Promise<Registration | undefined> {
    const url = this.#urlOf(call.operation);
    const dispatcher = this.#options.dispatcher ?? sharedDispatcher();
    const gate = gateOf(url.origin);
    try {
      const answer = await gate.pass(
        () =>
          call.budget.spend(
            (signal) => postJson(url, call.body, { dispatcher, signal, secrets: call.secrets }),
            call.signal,
          ),
        call.signal,
      );
      return readEnvelope(answer, call.secrets);
    } catch (error) {
      if (error instanceof AttemptError && error.failure.httpStatus === 429) {
        // Not longer than a call may take, so that no answer stops the process for good.
        gate.pause(Math.min(error.failure.retryAfterMs ?? 0, this.#requestMs));
      }
      throw error;
    }
  }

  #urlOf(operation: RegistrationAction): URL {
    let url = this.#urls.get(operation);
    if (!url) {
      url = new URL(appendQuery(this.#options.baseUrl, `action=${operation}`));
      this.#urls.set(operation, url);
    }
    return url;
  }

  #explain(error: unknown, operation: RegistrationAction, attempts: number): unknown {
    const where = `${operation} at ${printUrl(this.#options.baseUrl)}`;
    if (error instanceof DOMException && error.name === "TimeoutError") {
      const message = `${where}: no answer within ${this.#requestMs / 1000} s; raise timeouts.requestSeconds if the service is slow`;
      return new ApiChatError("timeout", message, { operation, attempts });
    }
    if (!(error instanceof AttemptError)) return error;
    const { code, httpStatus } = error.failure;
    const tries = attempts > 1 ? ` (after ${attempts} attempts)` : "";
    return new ApiChatError(code, `${where}: ${error.message}${tries}${hintFor(error.failure)}`, {
      operation,
      attempts,
      ...(httpStatus === undefined ? {} : { httpStatus }),
      cause: error.cause,
    });
  }
}

/** Throws `invalid_config` naming the options that are wrong, and no value of a secret. */
function requireOptions({
  baseUrl,
  apiKey,
  requestSeconds = DEFAULT_REQUEST_SECONDS,
}: RegistrationClientOptions): void {
  const flaws = [
    ...(isHttpUrl(baseUrl) ? [] : ["baseUrl: must be an absolute http or https URL"]),
    ...(apiKey ? [] : [`apiKey: is missing. ${KEY_HINT}`]),
    ...(requestSeconds > 0 ? [] : ["requestSeconds: must be a number above 0"]),
  ];
  if (flaws.length === 0) return;
  throw new ApiChatError("invalid_config", `RegistrationClient: ${flaws.join("; ")}`, { operation: "check" });
}

const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);

/** What to do next, where the answer itself does not tell. */
function hintFor({ code, httpStatus }: { code: ApiChatErrorCode; httpStatus?: number }): string {
  if (code === "unauthorized") return `. ${KEY_HINT}`;
  if (code === "rejected" && (httpStatus === 404 || httpStatus === 405 || httpStatus === 410)) {
    return ". Is this the address of the registration interface? Check baseUrl";
  }
  if (code === "unavailable" && httpStatus === undefined) {
    return ". Check baseUrl, or try again when the service is up";
  }
  return "";
}

function judgeAttempt(error: unknown): RetryVerdict {
  return error instanceof AttemptError ? error.failure : { retry: false };
}

/** Takes the registration out of an envelope (section 2.2). A `status` other than `ok` is the service's refusal. */
function readEnvelope(answer: unknown, secrets: readonly string[]): Registration | undefined {
  const envelope = registrationEnvelope.safeParse(answer);
  if (!envelope.success || envelope.data.status !== "ok") throw notOk(answer, secrets);
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

function notOk(answer: unknown, secrets: readonly string[]): AttemptError {
  const said = quote(JSON.stringify(answer), secrets);
  const { data } = envelopeStatus.safeParse(answer);
  return data && data.status !== "ok"
    ? new AttemptError({ code: "rejected", retry: false }, `the service answered: ${said}`)
    : new AttemptError(
        { code: "protocol", retry: false },
        `the answer is not an envelope of the specification: ${said}`,
      );
}
