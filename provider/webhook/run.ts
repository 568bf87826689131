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
 * What this run knows of its webhooks. Two facts decide what may be written: which workspaces the program declares (from check),
 * and which bot each state holds after its own step. Names decide nothing, because a program may move them: to another workspace,
 * or to another webhook. All of it is the knowledge of one provider process; the limits are in docs/resource.md.
 */
export interface Declared {
  inputs: WebhookInputs;
  /** The API key in force: the argument or the default. */
  apiKey: string;
  workspace: string;
}

/** A state that holds a bot. */
export interface Claim {
  /** Tells this state apart from another one of the same workspace. */
  claimId: string;
  /** The resource of the program, see {@link resourceOf}, and its name. */
  resource: string;
  name: string;
  /** Diff alone has seen it, so the engine may still replace it: a create of the same resource takes its place. */
  isReplaceable?: boolean;
}

const newTable = () => ({
  declaredByWorkspace: new Map<string, Map<string, Declared>>(),
  declaredByResource: new Map<string, Declared[]>(),
  claimsByBotCode: new Map<string, Claim>(),
  namesByClaimId: new Map<string, string>(),
  /** By workspace: the state of a deleted resource whose webhook was left to the resource that declares the workspace. */
  handedOver: new Map<string, WebhookState>(),
  /** By resource: the state that diff has shown. */
  shownByResource: new Map<string, WebhookState>(),
  /** By origin: whether get-webhook returns a webhook as the response to set-webhook showed it. */
  showsWhatWasSet: new Map<string, Promise<boolean>>(),
});

let table = newTable();

/** Forgets everything. For tests, which run many programs in one process. */
export function forgetManaged(): void {
  table = newTable();
}

/** What tells the resources of a run apart: the URN, or the name where the engine gives no URN (the dynamic provider). */
export const resourceOf = ({ name }: { name: string }, { urn }: OperationContext): string => urn ?? name;

/** A workspace: keyed with the API key, so that the address alone, known to many, shows nothing of it. */
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

/** What the program declares for a workspace, the given resource before any other. */
export function declaredAt(workspace: string, resource: string): Declared | undefined {
  const here = table.declaredByWorkspace.get(workspace);
  return here?.get(resource) ?? here?.values().next().value;
}

/** What the program declares as a resource. Undefined if it has dropped it, in a destroy, and where a name is used twice. */
export function declaredAs(resource: string): Declared | undefined {
  const found = table.declaredByResource.get(resource) ?? [];
  return found.length === 1 ? found[0] : undefined;
}

/** Records that a state of the program holds a bot. Throws `conflict` if another state holds it. */
export function claimBot(botUrl: string, claim: Claim): void {
  const holder = otherHolderOf(botUrl, claim.claimId);
  if (holder && !isReplacedBy(holder, claim)) {
    throw new ApiChatError(
      "conflict",
      `${quoteNames([holder.name, claim.name])} reach the same workspace, and a workspace has one webhook`,
      { operation: "set-webhook", hints: [{ id: "separate_workspaces" }] },
    );
  }
  table.claimsByBotCode.set(botCodeOf(botUrl), claim);
}

/** Whether a create takes the place of a state that diff has shown: the engine replaces it. */
const isReplacedBy = (holder: Claim, { resource, isReplaceable }: Claim): boolean =>
  holder.isReplaceable === true && isReplaceable !== true && holder.resource === resource;

/** The claim of another state on a bot. */
export function otherHolderOf(botUrl: string, claimId: string): Claim | undefined {
  const claim = table.claimsByBotCode.get(botCodeOf(botUrl));
  return claim?.claimId === claimId ? undefined : claim;
}

/** Ends the claim of a state that is deleted, or was never stored. */
export function releaseBot(botUrl: string, claimId: string): void {
  if (!otherHolderOf(botUrl, claimId)) table.claimsByBotCode.delete(botCodeOf(botUrl));
}

/** Two resources in a fixed order: the engine asks for them in any. */
export const quoteNames = (names: readonly string[]): string =>
  names
    .toSorted()
    .map((name) => `"${name}"`)
    .join(" and ");

/** Whether the program declares a resource with these inputs. Not yet in a refresh, which calls diff as well. */
export const isDeclared = ({ baseUrl }: WebhookInputs, resource: string): boolean =>
  (table.declaredByResource.get(resource) ?? []).some(({ inputs }) => inputs.baseUrl === baseUrl);

/** Records the state that the engine shows to diff for a resource. If the program leaves it as it is, it holds its bot. */
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

/** The name that the program of this run gives a state; in a destroy, which knows no program, the recorded one. */
export const nameOf = ({ name, applied }: StoredState): string =>
  table.namesByClaimId.get(applied.claimId) ?? name;

/** Leaves the webhook of a deleted resource to the create that follows at a workspace. */
export const handOver = (state: WebhookState, { workspace }: Declared): void =>
  void table.handedOver.set(workspace, state);

/**
 * The state that a create replaces: its webhook was left to this workspace, or diff has shown it (the replacement of an earlier
 * run was cut off between delete and create).
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
 * Runs an operation when no other operation on these workspaces is in progress: no create slips into a delete that has
 * looked already. Rejects with the signal's reason if that fires first.
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
  // One order for all, so that no two wait for each other.
  const keys = [...new Set(workspaces)].toSorted();
  return keys.reduce<() => Promise<T>>((next, key) => () => queue.run(key, next), start)();
}

/** What the engine's `configure` hands over: the stack's configuration, secrets in clear. */
export interface ConfigureRequest {
  config: { get(key: string): string | undefined };
  /** It is that of a provider which the program declares, so it counts as an argument: the environment comes after it. */
  isExplicit?: boolean;
}

let configured: ConfigureRequest | undefined;

/**
 * Takes the stack's configuration. One assignment, because the SDK hands out the provider before it waits for this, and a
 * read may come first.
 */
export function configure(request: ConfigureRequest): void {
  configured = request;
}

const readConfig = (key: string): string | undefined => configured?.config.get(key);

/** As {@link findBaseUrl}, of this run. */
export const defaultBaseUrl = (): string | undefined => findBaseUrl(readConfig);

/** The API keys of who names none, the one to take first. */
function defaultApiKeys(): (string | undefined)[] {
  const keys = [process.env[SETTINGS.apiKey.environment], readConfig(SETTINGS.apiKey.config)];
  return configured?.isExplicit ? keys.toReversed() : keys;
}

/** The API key of who names none. */
export const defaultApiKey = (): string | undefined => defaultApiKeys().find(Boolean);

/** The one API key to write with: the program's, or the default. */
export function apiKeyFor(apiKey: string | undefined): string {
  const key = apiKey ?? defaultApiKey();
  if (key === undefined) throw settingMissing("apiKey");
  return key;
}

/**
 * The API keys to read and delete with, most likely first: the recorded one, those of the environment and the
 * configuration, and the one that the program of this run gives the resource. After a rotation only some of them are good.
 */
export function apiKeyCandidates(state: WebhookState, resource: string): string[] {
  const declared = declaredAs(resource);
  const isHere =
    declared !== undefined && canonicalUrl(declared.inputs.baseUrl) === canonicalUrl(state.baseUrl);
  const keys = [state.apiKey, ...defaultApiKeys(), isHere ? declared.apiKey : undefined];
  return [...new Set(keys.filter((key) => key !== undefined && key !== ""))] as string[];
}
