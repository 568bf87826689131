import { createHmac } from "node:crypto";
import { ApiChatError } from "../errors/index.js";
import { KeyedQueue } from "../lib/keyed-queue.js";
import { botCodeOf, canonicalUrl } from "../lib/url.js";
import {
  SETTINGS,
  findBaseUrl,
  settingMissing,
  type OperationContext,
  type StoredState,
  type WebhookInputs,
  type WebhookState,
} from "./contract.js";

/**
 * What this run knows about its webhooks. Two facts decide what may be written: which workspaces the program declares
 * (from check), and which bot each state owns after its own step. Names do not count, because a program may move them
 * to another workspace or another webhook. Each provider process knows only its own resources; docs/resource.md lists
 * the limits.
 */
export interface Declared {
  inputs: WebhookInputs;
  /** The API key in force: the argument or the default. */
  apiKey: string;
  workspace: string;
}

/** A state that owns a bot. */
export interface Claim {
  /** Distinguishes this state from others of the same workspace. */
  claimId: string;
  /** The resource of the program, see {@link resourceOf}, and its name. */
  resource: string;
  name: string;
  /**
   * Only diff has seen this state, so the engine may still replace it: a create of the same resource takes its place.
   */
  isReplaceable?: boolean;
}

const newTable = () => ({
  declaredByWorkspace: new Map<string, Map<string, Declared>>(),
  declaredByResource: new Map<string, Declared[]>(),
  claimsByBotCode: new Map<string, Claim>(),
  namesByClaimId: new Map<string, string>(),
  /**
   * By workspace: the state of a deleted resource that handed its webhook over to the resource that declares the
   * workspace.
   */
  handedOver: new Map<string, WebhookState>(),
  /** By resource: the state that diff has shown. */
  shownByResource: new Map<string, WebhookState>(),
  /** By origin: whether get-webhook returns a webhook as the response to set-webhook showed it. */
  showsWhatWasSet: new Map<string, Promise<boolean>>(),
});

let table = newTable();

/** Clears the table. For tests, which run many programs in one process. */
export function resetForTests(): void {
  table = newTable();
}

/** Identifies a resource within a run: its URN, or its name if the engine passes no URN (the dynamic provider). */
export const resourceOf = ({ name }: { name: string }, { urn }: OperationContext): string => urn ?? name;

/**
 * Identifies a workspace: an HMAC of its base URL, keyed with the API key, so that knowing the base URL is not enough
 * to recognize it.
 */
export const workspaceOf = (baseUrl: string, apiKey: string): string =>
  createHmac("sha256", apiKey).update(canonicalUrl(baseUrl)).digest("base64url");

/** Records that the program declares a workspace. Returns the name of another resource that declares the same one. */
export function declare(inputs: WebhookInputs, apiKey: string, resource: string): string | undefined {
  const { declaredByWorkspace, declaredByResource } = table;
  const workspace = workspaceOf(inputs.baseUrl, apiKey);
  const declared: Declared = { inputs, apiKey, workspace };
  const here = declaredByWorkspace.get(workspace) ?? new Map<string, Declared>();
  declaredByWorkspace.set(workspace, here.set(resource, declared));
  const others = (declaredByResource.get(resource) ?? []).filter((one) => one.workspace !== workspace);
  declaredByResource.set(resource, [...others, declared]);
  return [...here].find(([other]) => other !== resource)?.[1].inputs.name;
}

/** Returns what the program declares for a workspace, and prefers the given resource. */
export function declaredAt(workspace: string, resource: string): Declared | undefined {
  const here = table.declaredByWorkspace.get(workspace);
  return here?.get(resource) ?? here?.values().next().value;
}

/**
 * Returns what the program declares as a resource. Undefined if the program no longer declares it, in a destroy, or if
 * a name is used twice.
 */
export function declaredAs(resource: string): Declared | undefined {
  const found = table.declaredByResource.get(resource) ?? [];
  return found.length === 1 ? found[0] : undefined;
}

/** Records that a state of the program owns a bot. Throws `conflict` if another state already owns it. */
export function claimBot(botUrl: string, claim: Claim): void {
  const holder = otherHolderOf(botUrl, claim.claimId);
  if (holder && !isReplacedBy(holder, claim)) {
    throw new ApiChatError(
      "conflict",
      `${joinQuotedNames([holder.name, claim.name])} reach the same workspace, and a workspace has one webhook`,
      { operation: "set-webhook", hints: [{ id: "separate_workspaces" }] },
    );
  }
  table.claimsByBotCode.set(botCodeOf(botUrl), claim);
}

/** Whether a create replaces a state that the engine has shown to diff. */
const isReplacedBy = (holder: Claim, { resource, isReplaceable }: Claim): boolean =>
  holder.isReplaceable === true && isReplaceable !== true && holder.resource === resource;

/** Another state's claim on a bot, if any. */
export function otherHolderOf(botUrl: string, claimId: string): Claim | undefined {
  const claim = table.claimsByBotCode.get(botCodeOf(botUrl));
  return claim?.claimId === claimId ? undefined : claim;
}

/** Removes the claim of a state that was deleted or never stored. */
export function releaseBot(botUrl: string, claimId: string): void {
  if (!otherHolderOf(botUrl, claimId)) table.claimsByBotCode.delete(botCodeOf(botUrl));
}

/** Quotes resource names in sorted order, because the engine processes resources in any order. */
export const joinQuotedNames = (names: readonly string[]): string =>
  names
    .toSorted()
    .map((name) => `"${name}"`)
    .join(" and ");

/** Whether the program declares a resource with this base URL. False in a refresh, which also calls diff. */
export const isDeclared = ({ baseUrl }: WebhookInputs, resource: string): boolean =>
  (table.declaredByResource.get(resource) ?? []).some(({ inputs }) => inputs.baseUrl === baseUrl);

/**
 * Records the state that the engine shows to diff for a resource. If the program does not change it, it owns its bot.
 */
export function showState(
  state: WebhookState,
  { name, resource, isUnchanged }: { name: string; resource: string; isUnchanged: boolean },
): void {
  const { claimId, botUrl } = state.applied;
  table.namesByClaimId.set(claimId, name);
  table.shownByResource.set(resource, state);
  if (isUnchanged && isDeclared(state, resource))
    claimBot(botUrl, { claimId, name, resource, isReplaceable: true });
}

/** The name that this run's program uses for a state. A destroy runs no program, so it uses the recorded name. */
export const currentNameOf = ({ name, applied }: StoredState): string =>
  table.namesByClaimId.get(applied.claimId) ?? name;

/** Hands the webhook of a deleted resource over to the create that follows for the same workspace. */
export const handOver = (state: WebhookState, { workspace }: Declared): void =>
  void table.handedOver.set(workspace, state);

/**
 * Returns the state that a create replaces: one that was handed over, or one that diff recorded (if an earlier run was
 * cut off between delete and create).
 */
export const replacedBy = (
  workspace: string,
  resource: string,
): { state: WebhookState | undefined; isHandedOver: boolean } => {
  const handed = table.handedOver.get(workspace);
  return { state: handed ?? table.shownByResource.get(resource), isHandedOver: handed !== undefined };
};

/** Whether a service is known to show a webhook in get-webhook as it did in its response to set-webhook; undefined if not yet. */
export const showsWhatWasSet = (origin: string): Promise<boolean> | undefined =>
  table.showsWhatWasSet.get(origin);

/** Records the first comparison of a service's responses. If it fails, the next webhook is compared. */
export function compareFirst(origin: string, isSame: Promise<boolean>): void {
  const { showsWhatWasSet: known } = table;
  const forget = (): boolean => {
    known.delete(origin);
    return false;
  };
  known.set(origin, isSame.catch(forget));
}

const queue = new KeyedQueue();

/**
 * Runs an operation while no other operation on these workspaces is in progress, so that no create slips into a delete
 * that has already read the registration. Rejects with the signal's reason if that fires first.
 */
export function inTurn<T>(
  workspaces: readonly string[],
  { signal }: OperationContext,
  operation: () => Promise<T>,
): Promise<T> {
  const start = (): Promise<T> => {
    signal?.throwIfAborted();
    return operation();
  };
  // The same order for all operations, so that no two wait for each other.
  const keys = [...new Set(workspaces)].toSorted();
  return keys.reduce<() => Promise<T>>((next, key) => () => queue.run(key, next), start)();
}

/** The argument of the engine's `configure`: the stack's configuration, with secrets decrypted. */
export interface ConfigureRequest {
  config: { get(key: string): string | undefined };
  /**
   * Whether the program declares this provider explicitly. Its configuration then counts as an argument and takes
   * precedence over the environment.
   */
  isExplicit?: boolean;
}

let configured: ConfigureRequest | undefined;

/**
 * Stores the stack's configuration in one synchronous assignment, because the SDK does not wait for it before it uses
 * the provider.
 */
export function configure(request: ConfigureRequest): void {
  configured = request;
}

const readConfig = (key: string): string | undefined => configured?.config.get(key);

/** {@link findBaseUrl} with this run's configuration. */
export const defaultBaseUrl = (): string | undefined => findBaseUrl(readConfig);

/** The default API keys, in the order in which they are tried. */
function defaultApiKeys(): (string | undefined)[] {
  const keys = [process.env[SETTINGS.apiKey.environment], readConfig(SETTINGS.apiKey.config)];
  return configured?.isExplicit ? keys.toReversed() : keys;
}

/** The default API key: the first one that is set. */
export const defaultApiKey = (): string | undefined => defaultApiKeys().find(Boolean);

/** The API key for writes: the program's, or the default. */
export function requireApiKey(apiKey: string | undefined): string {
  const key = apiKey ?? defaultApiKey();
  if (key === undefined) throw settingMissing("apiKey");
  return key;
}

/**
 * The API keys for reads and deletes, most likely first: the recorded one, those from the environment and the
 * configuration, and the one that this run's program sets. After a rotation, only some of them are valid.
 */
export function apiKeyCandidates(state: WebhookState, resource: string): string[] {
  const declared = declaredAs(resource);
  const isHere =
    declared !== undefined && canonicalUrl(declared.inputs.baseUrl) === canonicalUrl(state.baseUrl);
  const keys = [state.apiKey, ...defaultApiKeys(), isHere ? declared.apiKey : undefined];
  return [...new Set(keys.filter((key) => key !== undefined && key !== ""))] as string[];
}
