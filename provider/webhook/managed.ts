import { ApiChatError } from "../errors.js";
import { botCodeOf, canonicalUrl } from "./fence.js";

/**
 * What this run's program declares and what lives in its state. The provider is one process for a whole run, so this
 * table sees two resources for one workspace, and it sees that the resource to be deleted is only the old name of one
 * that lives: the engine creates a renamed resource first and deletes the old one last.
 */
interface Declared {
  name: string;
  baseUrl: string;
  apiKey: string;
}

interface Alive {
  name: string;
  since: string;
}

const declaredByName = new Map<string, Declared>();
const namesByAddress = new Map<string, Set<string>>();
const aliveByBotCode = new Map<string, Alive>();

const addressOf = ({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }): string =>
  JSON.stringify([canonicalUrl(baseUrl), apiKey]);

/** Notes that the program declares a workspace. Gives the name of another resource that declares the same one. */
export function declare(declared: Declared): string | undefined {
  const before = declaredByName.get(declared.name);
  if (before) namesByAddress.get(addressOf(before))?.delete(before.name);
  declaredByName.set(declared.name, declared);
  const address = addressOf(declared);
  const names = namesByAddress.get(address) ?? new Set();
  namesByAddress.set(address, names.add(declared.name));
  return otherDeclaration(declared);
}

function otherDeclaration(workspace: Declared): string | undefined {
  const names = [...(namesByAddress.get(addressOf(workspace)) ?? [])];
  return names.find((name) => name !== workspace.name);
}

/** The API key with which this run's program declares a resource at an address. */
export function managedApiKey({ name, baseUrl }: { name: string; baseUrl: string }): string | undefined {
  const declared = declaredByName.get(name);
  return declared && canonicalUrl(declared.baseUrl) === canonicalUrl(baseUrl) ? declared.apiKey : undefined;
}

/** Notes that a resource holds a bot. Throws `conflict` if another resource of this program holds the same one. */
export function claimBot(botUrl: string, alive: Alive): void {
  const holder = aliveByBotCode.get(botCodeOf(botUrl));
  if (holder && holder.name !== alive.name && declaredByName.has(holder.name)) {
    throw new ApiChatError(
      "conflict",
      `${quoteNames([holder.name, alive.name])} reach the same workspace, and a workspace has one webhook; give one of them its own base URL or API key`,
      { operation: "set-webhook" },
    );
  }
  aliveByBotCode.set(botCodeOf(botUrl), alive);
}

/** Two resources in a fixed order: the engine asks for them in any. */
export const quoteNames = (names: readonly string[]): string =>
  names
    .toSorted()
    .map((name) => `"${name}"`)
    .join(" and ");

/** The name under which the program still manages the registration of a resource that is about to be deleted. */
export function managedAs(deleted: Declared & { botUrl: string; since: string }): string | undefined {
  const alive = aliveByBotCode.get(botCodeOf(deleted.botUrl));
  if (alive && alive.since !== deleted.since) return alive.name;
  return otherDeclaration(deleted);
}

/** Forgets everything. For tests, which run many programs in one process. */
export function forgetManaged(): void {
  declaredByName.clear();
  namesByAddress.clear();
  aliveByBotCode.clear();
}
