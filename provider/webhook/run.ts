import { createHmac } from "node:crypto";
import type { Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { botCodeOf, canonicalUrl } from "../lib/url.js";
import { SharedClaims, type Claim } from "./claims.js";
import {
  SETTINGS,
  findBaseUrl,
  isOurs,
  settingMissing,
  type Applied,
  type StoredState,
  type WebhookInputs,
  type WebhookState,
} from "./contract.js";

/**
 * What this run's program declares, and which state holds which bot. So two resources for one workspace are seen, and that the
 * resource to be deleted is only the old name of one that lives: the engine creates a renamed resource first and deletes the
 * old one last. An alias leaves the old name in the outputs until the next update, so the name that counts is the one that
 * the program gives a state. What other processes of the run know is in claims.ts.
 */
interface Declared {
  inputs: WebhookInputs;
  /** The API key in force: the argument or the default. */
  apiKey: string;
}

const declaredByName = new Map<string, Declared>();
const namesByAddress = new Map<string, Set<string>>();
const claimsByBotCode = new Map<string, Claim>();
const handedOver = new Map<string, Applied>();
/** Of a provider that the engine has started. */
let shared: SharedClaims | undefined;

/** Shares what is declared and claimed with the other processes of a run: those that the engine of this address has started. */
export function joinRun(engineAddress: string | undefined): void {
  shared?.close();
  shared = engineAddress === undefined ? undefined : new SharedClaims(engineAddress);
}

/** A workspace: keyed with the API key, so that the address alone, known to many, shows nothing of it. */
const addressOf = (baseUrl: string, apiKey: string): string =>
  createHmac("sha256", apiKey).update(canonicalUrl(baseUrl)).digest("base64url");

/** Notes that the program declares a workspace. Gives the name of another resource that declares the same one. */
export function declare(inputs: WebhookInputs, apiKey: string): string | undefined {
  const { name, baseUrl } = inputs;
  const before = declaredByName.get(name);
  if (before) namesByAddress.get(addressOf(before.inputs.baseUrl, before.apiKey))?.delete(name);
  declaredByName.set(name, { inputs, apiKey });
  const address = addressOf(baseUrl, apiKey);
  const names = namesByAddress.get(address) ?? new Set();
  namesByAddress.set(address, names.add(name));
  shared?.write({ name, address });
  return otherNameAt(address, name);
}

const otherNameAt = (address: string, name: string): string | undefined =>
  [...(namesByAddress.get(address) ?? [])].find((other) => other !== name);

/** Notes that a resource holds a bot. Throws `conflict` if another resource of this program holds the same one. */
export function claimBot(botUrl: string, claim: Claim): void {
  const bot = botCodeOf(botUrl);
  const holder = otherHolderOf(bot, claim);
  if (holder) {
    throw new ApiChatError(
      "conflict",
      `${quoteNames([holder.name, claim.name])} reach the same workspace, and a workspace has one webhook`,
      { operation: "set-webhook", hints: [{ id: "separate_workspaces" }] },
    );
  }
  claimsByBotCode.set(bot, claim);
  shared?.write({ bot, ...claim });
}

/** The resource that the program declares beside this one; in another process it may have the same name. */
function otherHolderOf(bot: string, { name, claimId }: Claim): Claim | undefined {
  const own = claimsByBotCode.get(bot);
  if (own && own.name !== name && declaredByName.has(own.name)) return own;
  const other = shared?.claimOf(bot, claimId);
  return other?.isDeclared ? other : undefined;
}

/** Whether the state of this name holds a bot: diff has seen it. A create is its replacement then, and a delete comes before. */
export const holdsBot = (botUrl: string, name: string): boolean =>
  claimsByBotCode.get(botCodeOf(botUrl))?.name === name;

/** Two resources in a fixed order: the engine asks for them in any. */
export const quoteNames = (names: readonly string[]): string =>
  names
    .toSorted()
    .map((name) => `"${name}"`)
    .join(" and ");

/** The name that the program of this run gives a state; in a destroy, which knows no program, the recorded one. */
export function nameOf({ name, botUrl, applied }: StoredState): string {
  const claim = claimsByBotCode.get(botCodeOf(applied.botUrl ?? botUrl));
  return claim?.claimId === applied.claimId ? claim.name : name;
}

/** What the program of this run declares under the name of a state; undefined for one that it has dropped, and in a destroy. */
export const declaredFor = (state: WebhookState): Declared | undefined => declaredByName.get(nameOf(state));

interface Manager {
  name: string;
  /** What it is to create, unless it has done so in this run. */
  toCreate?: WebhookInputs | undefined;
}

/** Who of the program still manages the registration of a resource that is about to be deleted. */
export function managerOf(state: WebhookState): Manager | undefined {
  const { botUrl, claimId } = state.applied;
  const bot = botCodeOf(botUrl);
  const own = claimsByBotCode.get(bot);
  const claim = own && own.claimId !== claimId ? own : shared?.claimOf(bot, claimId);
  if (claim) return { name: claim.name };
  if (declaredFor(state)) return undefined;
  const addresses = apiKeyCandidates(state).map((apiKey) => addressOf(state.baseUrl, apiKey));
  const names = addresses.map((address) => otherNameAt(address, state.name));
  const name = names.find((found) => found !== undefined);
  if (name !== undefined) return { name, toCreate: declaredByName.get(name)?.inputs };
  const elsewhere = shared?.nameAt(addresses);
  return elsewhere === undefined ? undefined : { name: elsewhere };
}

/** Leaves the registration of a deleted resource to the one that manages it from now on, which may be created only later. */
export const handOver = ({ applied }: WebhookState): void =>
  void handedOver.set(botCodeOf(applied.botUrl), applied);

/** Whether a registration was left to whoever manages it from now on. */
export function isHandedOver(seen: Registration): boolean {
  const applied = handedOver.get(botCodeOf(seen.botUrl));
  return applied !== undefined && isOurs(seen, applied);
}

/** Forgets everything. For tests, which run many programs in one process. */
export function forgetManaged(): void {
  declaredByName.clear();
  namesByAddress.clear();
  claimsByBotCode.clear();
  handedOver.clear();
  joinRun(undefined);
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
 * configuration, and the one that the program of this run declares. After a rotation only some of them are good.
 */
export function apiKeyCandidates(state: WebhookState): string[] {
  const declared = declaredFor(state);
  const isHere =
    declared !== undefined && canonicalUrl(declared.inputs.baseUrl) === canonicalUrl(state.baseUrl);
  const keys = [state.apiKey, ...defaultApiKeys(), isHere ? declared.apiKey : undefined];
  const found = [...new Set(keys.filter((key) => key !== undefined && key !== ""))] as string[];
  if (found.length === 0) throw settingMissing("apiKey");
  return found;
}
