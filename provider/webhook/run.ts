import { createHash } from "node:crypto";
import type { Registration } from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { KeyedQueue } from "../lib/keyed-queue.js";
import { joinQuotedNames } from "../lib/plain-text.js";
import { botCodeOf, canonicalUrl } from "../lib/url.js";
import { Confirmations, isOurs, workspaceOf } from "../registration/index.js";
import type { Claim } from "./facts.js";
import { memoryLog, type RunLog } from "./run-log.js";
import { findApiKeys, findBaseUrl, settingMissing } from "./settings.js";
import type { WebhookState } from "./state.js";

export interface OperationContext {
  run: Run;
  /** The URN of the resource. The dynamic provider does not receive it. */
  urn?: string;
  /** Ends the operation at once. Its reason is the ApiChatError to report. */
  signal?: AbortSignal | undefined;
  /** How long the engine waits for the operation (`customTimeouts`), in seconds. */
  limitSeconds?: number | undefined;
}

/** Identifies a resource within a run: its URN, or its name if the engine passes no URN (the dynamic provider). */
export const resourceOf = ({ name }: { name: string }, { urn }: OperationContext): string => urn ?? name;

/** A webhook that the program declares. Its API key is the argument or the default. */
export type Declared = Record<"name" | "baseUrl" | "apiKey", string>;

export interface Configuration {
  /** Reads the stack's configuration, with secrets decrypted. */
  config: { get(key: string): string | undefined };
}

/**
 * What one run of the engine knows about its webhooks. The facts in its log decide what may be written, and
 * all provider processes of the run share them. Names decide nothing, because a program may move a name to
 * another webhook. Facts that are secret, or that only this process needs, are not in the log.
 */
export class Run {
  readonly #log: RunLog;
  /** By resource. Several if a name is used twice. */
  readonly #declared = new Map<string, Declared[]>();
  /** By claim, in order of recording: the state before this run, and the name that the program uses now. */
  readonly #states = new Map<string, { state: WebhookState; resource: string; name: string }>();
  readonly #queue = new KeyedQueue();
  readonly confirmations = new Confirmations();
  #hasTold = false;
  #configuration: Configuration = { config: { get: () => undefined } };

  constructor(log = memoryLog()) {
    this.#log = log;
  }

  /** Must be synchronous, because the SDK uses the provider without waiting for this to end. */
  configure(configuration: Configuration): void {
    this.#configuration = configuration;
  }

  /** Why this run's provider processes do not see each other's webhooks; undefined if they do. */
  get logProblem(): string | undefined {
    return this.#log.problem;
  }

  takeLogProblem(): string | undefined {
    if (this.#hasTold) return undefined;
    this.#hasTold = true;
    return this.logProblem;
  }

  defaultBaseUrl(): string | undefined {
    return findBaseUrl((key) => this.#configuration.config.get(key));
  }

  #defaultApiKeys(): string[] {
    return findApiKeys((key) => this.#configuration.config.get(key));
  }

  defaultApiKey(): string | undefined {
    return this.#defaultApiKeys()[0];
  }

  requireApiKey(apiKey = this.defaultApiKey()): string {
    if (apiKey === undefined) throw settingMissing("apiKey");
    return apiKey;
  }

  /** The API keys to try for a read or delete, most likely first: after a rotation, only some are valid. */
  apiKeyCandidates(state: WebhookState, resource: string): string[] {
    const here = this.#declarationsOf(resource).filter(
      ({ baseUrl }) => canonicalUrl(baseUrl) === canonicalUrl(state.baseUrl),
    );
    const keys = [state.apiKey, ...this.#defaultApiKeys(), ...here.map(({ apiKey }) => apiKey)];
    return [...new Set(keys.flatMap((key) => key || []))];
  }

  /** Records that the program declares a workspace. Returns the name of another resource that declares the same one. */
  declare(declared: Declared, resource: string): string | undefined {
    const { name, baseUrl, apiKey } = declared;
    const workspace = workspaceOf(baseUrl, apiKey);
    this.#declared.set(resource, [...this.#declarationsOf(resource), declared]);
    this.#log.append({ fact: "declared", workspace, resource, name });
    return this.#log.read().declarerOf(workspace, resource);
  }

  #declarationsOf(resource: string): Declared[] {
    return this.#declared.get(resource) ?? [];
  }

  declarerOf(workspace: string): string | undefined {
    return this.#log.read().declarerOf(workspace);
  }

  /** Claims a bot for the resource that is created or updated. Throws `conflict` if another state owns it. */
  claimBot(botUrl: string, claim: Claim): void {
    this.#hold(botUrl, claim, "write");
  }

  #hold(botUrl: string, claim: Claim, step: "diff" | "write"): void {
    if (botUrl === "") return;
    const held = { fact: "held", step, bot: toBot(botUrl), claim } as const;
    const rival = this.#log.read().rivalOf(held);
    if (rival) {
      throw new ApiChatError(
        "conflict",
        `${joinQuotedNames([rival.name, claim.name])} reach the same workspace, but a workspace has one webhook`,
        { operation: "set-webhook", hints: [{ id: "separate_workspaces" }] },
      );
    }
    this.#log.append(held);
  }

  otherHolderOf(botUrl: string, claimId: string): Claim | undefined {
    return this.#log.read().otherHolderOf(toBot(botUrl), claimId);
  }

  releaseBot(botUrl: string, claimId: string): void {
    this.#log.append({ fact: "released", bot: toBot(botUrl), claimId });
  }

  /**
   * Records the state that diff received. If the program declares the resource and does not change it, the
   * state owns its bot. A refresh, which also calls diff, declares nothing, so it claims no bot.
   */
  recordDiff(
    state: WebhookState,
    { name, resource, isUnchanged }: { name: string; resource: string; isUnchanged: boolean },
  ): void {
    const { claimId, botUrl } = state.applied;
    this.recordState(state, resource, name);
    const isDeclared = this.#declarationsOf(resource).some(({ baseUrl }) => baseUrl === state.baseUrl);
    if (isUnchanged && isDeclared) this.#hold(botUrl, { claimId, name, resource }, "diff");
  }

  recordState(state: WebhookState, resource: string, name = this.currentNameOf(state)): void {
    this.#states.delete(state.applied.claimId);
    this.#states.set(state.applied.claimId, { state, resource, name });
  }

  /** The name of another resource whose state registered this webhook, if this run has seen that state. */
  recordedBy(seen: Registration, { resource }: Claim): string | undefined {
    const others = [...this.#states.values()].filter((recorded) => recorded.resource !== resource);
    return others.find(({ state }) => isOurs(seen, state.applied))?.name;
  }

  /** The name that this run's program uses for a state. A destroy runs no program, so it uses the recorded name. */
  currentNameOf({ name, applied }: WebhookState): string {
    return this.#states.get(applied.claimId)?.name ?? name;
  }

  stateOf(resource: string): WebhookState | undefined {
    return [...this.#states.values()].findLast((recorded) => recorded.resource === resource)?.state;
  }

  /**
   * Runs an operation while no other operation on these workspaces is in progress, so that no create
   * interferes with a delete that has already read the registration.
   */
  inTurn<T>(
    workspaces: readonly string[],
    { signal }: OperationContext,
    operation: () => Promise<T>,
  ): Promise<T> {
    const start = (): Promise<T> => {
      signal?.throwIfAborted();
      return operation();
    };
    // All operations wait for workspaces in the same order, so that no two wait for each other.
    const keys = [...new Set(workspaces)].toSorted();
    return keys.reduce<() => Promise<T>>((next, key) => () => this.#queue.run(key, next), start)();
  }
}

const toBot = (botUrl: string): string => createHash("sha256").update(botCodeOf(botUrl)).digest("base64url");
