import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { findSecrets } from "../support/secrets.js";
import { Gone, type Failure, type Stored } from "./engine.js";
import { SECRETS, isSame, isSpoilt, type Seen, type World, type WorkspaceName } from "./world.js";

/** The documented promises for each workspace. Each check returns how a command broke its promise. */
const PROMISES: Record<string, (world: World, seen: Seen) => string | false | undefined> = {
  "somebody else's registration is never changed, unless it may be replaced": (world, seen) => {
    const { registration } = seen.before;
    if (!registration || !world.isForeign(seen.workspace, registration)) return false;
    const mayReplace = seen.command === "up" && world.program.get(seen.workspace)?.onExisting === "replace";
    return seen.writes.some(({ operation }) => !mayReplace || operation === "delete-webhook") && "it was";
  },

  "a different bot is never changed": (world, seen) => {
    if (!isAtOtherBot(world, seen)) return false;
    const { name } = world.program.get(seen.workspace) ?? {};
    const isCreated =
      seen.isReplaced || seen.before.stored.every((one) => one.name !== name || one.isPendingDelete);
    return (seen.command !== "up" || !isCreated) && seen.writes.length > 0 && "it was";
  },

  "preview and refresh write nothing": (_world, { command, writes }) =>
    command !== "up" && command !== "destroy" && writes.length > 0 && "they did",

  "an up that could notice a change leaves the webhook as declared": (world, seen) => {
    const declared = world.program.get(seen.workspace);
    if (!isDone(seen, "up") || !declared || !couldSee(world, seen)) return false;
    const { registration, stored } = seen.after;
    if (!registration) return "nothing is registered";
    const { bot_url, ...shown } = registration;
    if (!isSame(shown, world.wanted(declared))) return `the service has ${registration.webhook_url}`;
    if (registration.webhook_status !== "verified") return "it is not verified";
    if (stored.length !== 1) return `the state has ${stored.length} resources`;
    return stored[0]?.outputs["botUrl"] !== bot_url && "botUrl is not the service's";
  },

  "a dropped or destroyed webhook is removed": (world, seen) => {
    const isGone = isDone(seen, "destroy") || (isDone(seen, "up") && !world.program.has(seen.workspace));
    const isExempt = world.known[seen.workspace].isUnrecorded || isAtOtherBot(world, seen);
    const { registration } = seen.after;
    if (!isGone || isExempt || !registration) return false;
    return world.isOurs(seen.workspace, registration) && "ours is still registered";
  },

  "a declared webhook is never deleted": (world, seen) =>
    !mayBeRemoved(world, seen) &&
    seen.writes.some(({ operation }) => operation === "delete-webhook") &&
    "it was deleted",

  "a rejected set-webhook removes no verified webhook": (world, seen) => {
    const { before, after, strikes } = seen;
    const { registration, stored } = before;
    const { name, aliases = [] } = world.program.get(seen.workspace) ?? {};
    // If the service masks the key, the state of a replaced resource lacks it, so the webhook cannot be restored.
    const isUnknown = seen.isReplaced && world.masksKey;
    const isInState = stored.some(
      (one) =>
        [name, ...aliases].includes(one.name) && one.outputs["webhookUrl"] === registration?.webhook_url,
    );
    const mayGo = mayBeRemoved(world, seen);
    const isKept = registration?.webhook_status === "verified" && isInState && !isUnknown && !mayGo;
    return isKept && strikes < 2 && !after.registration && "it is gone";
  },

  "a failure is documented, and has a reason": (world, seen) =>
    seen.failures
      .filter((failure) => !isExplained(world, seen, failure))
      .map(({ name, method, error }) => `${method} of ${name}: ${codeOf(error)} ${textsOf(error).join("; ")}`)
      .join("\n"),
};

/**
 * Whether a command may remove a webhook: either the program no longer declares it, or it now uses the name
 * of the webhook's resource for a different workspace. In the latter case, the webhook is kept if the command
 * checks the whole program first, and the base URL in the state is still the one in the program.
 */
function mayBeRemoved(
  world: World,
  { command, workspace, isCheckedFirst, before: { stored } }: Seen,
): boolean {
  if (command !== "up" || !world.program.has(workspace)) return true;
  const goneStates = stored.filter((one) =>
    [...world.program].some(
      ([other, { name, aliases }]) => other !== workspace && [name, ...aliases].includes(one.name),
    ),
  );
  const address = world.baseUrlOf(workspace);
  return goneStates.some(({ outputs }) => !isCheckedFirst || outputs["baseUrl"] !== address);
}

const isDone = ({ command, ok }: Seen, wanted: Seen["command"]): boolean => ok && command === wanted;

/** An `up` without refresh reads a webhook only to change it or, if it has two resources, to delete one of them. */
const couldSee = (world: World, { isRefreshing, workspace, requests, before }: Seen): boolean =>
  isRefreshing || !world.known[workspace].isUnseen || (requests.length > 0 && before.stored.length < 2);

/** Whether the workspace now has a different bot than this resource in the state. */
export const isOfOtherBot = ({ emulator }: World, workspace: WorkspaceName, { outputs }: Stored): boolean =>
  !String(outputs["botUrl"]).endsWith(emulator.workspace(workspace).botCode);

/** Whether the workspace now has a different bot than all its resources. Only a registration shows a bot. */
const isAtOtherBot = (world: World, { workspace, before: { registration, stored } }: Seen): boolean =>
  !!registration && stored.length > 0 && stored.every((one) => isOfOtherBot(world, workspace, one));

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? "";

const textsOf = (error: unknown): string[] => {
  const { message = "", reasons = [], reason = "" } = error as Record<string, string | string[]>;
  return [message, reasons, reason].flat().filter((text) => text !== "");
};

/** Whether the documentation explains why a call failed. */
function isExplained(world: World, seen: Seen, failure: Failure): boolean {
  const { id } = failure.error as { id?: string };
  const code = codeOf(failure.error);
  if (failure.error instanceof Gone) return true;
  if (failure.method === "check" || (code === "" && id === undefined)) return false;
  if (seen.strikes > 0 || isMove(world, seen, failure)) return true;
  const keys = keysOf(world, seen, failure);
  if (code === "handshake_failed") return !world.endpoint.isUp;
  if (code === "unauthorized")
    return !keys.includes(SECRETS.apiKey(world.serviceKey)) || hasWrongKeyToReplace(world, seen, failure);
  if (code === "invalid_config") return keys.every((key) => key === undefined);
  return code === "conflict" && isConflict(world, seen, failure);
}

/** Whether an update would move a resource from another workspace to this one; only --replace may do so. */
function isMove({ program }: World, { workspace, elsewhere }: Seen, { method, name }: Failure): boolean {
  const names = [name, ...(program.get(workspace)?.aliases ?? [])];
  return method === "update" && elsewhere.some((stored) => names.includes(stored.name));
}

/** Whether the delete of a replaced webhook may fail: it first reads with the program's API key, which is wrong. */
const hasWrongKeyToReplace = (
  { program, givenKey, serviceKey }: World,
  { command }: Seen,
  { method, name }: Failure,
): boolean =>
  command === "up" &&
  method === "delete" &&
  givenKey !== serviceKey &&
  [...program.values()].some((declared) => declared.name === name);

const usesProgram = ({ method }: Failure): boolean => method !== "read" && method !== "delete";

/** The API keys that a call can use: the program's, or, if the call lacks it, the state's and the environment's. */
function keysOf(world: World, { command, workspace, isReplaced, before }: Seen, failure: Failure): unknown[] {
  const given = SECRETS.apiKey(world.givenKey);
  // If a webhook is kept under a new name, deleting its old name needs no recorded key, because it calls nothing.
  const old = before.stored.find(({ name }) => name === failure.name);
  const isSameBot = !!old && world.program.has(workspace) && !isOfOtherBot(world, workspace, old);
  const isDropped = [...world.program.values()].every(({ name }) => name !== failure.name);
  const isRenamed = command === "up" && failure.method === "delete" && !isReplaced && isSameBot && isDropped;
  if (usesProgram(failure) || isRenamed) return [given];
  const fromEnvironment = world.keySource === "environment" ? [given] : [];
  return [failure.props["apiKey"], ...fromEnvironment];
}

/** Whether the registration is somebody else's, or the workspace may be a different one. */
function isConflict(world: World, seen: Seen, failure: Failure): boolean {
  const { registration, stored } = seen.before;
  const declared = world.program.get(seen.workspace);
  const { isUnseen, isUnrecorded } = world.known[seen.workspace];
  const isCreate = failure.method === "create";
  const isOther = stored.some((one) => one.name === failure.name && isOfOtherBot(world, seen.workspace, one));
  if (isAtOtherBot(world, seen) || (registration && isOther)) return true;
  const hasMoved = stored.some(
    ({ name, outputs }) => name === failure.name && outputs["baseUrl"] !== world.baseUrlOf(seen.workspace),
  );
  const isGone = !registration || seen.writes.some(({ operation }) => operation === "delete-webhook");
  if (isGone) return !isCreate && (hasMoved || !isProven(world, seen.workspace));
  if (!declared || !usesProgram(failure) || declared.onExisting === "replace") return false;
  if (world.isForeign(seen.workspace, registration)) return true;
  if (registration.webhook_url === world.wanted(declared).webhook_url) return false;
  // Only an update can change a URL, because a create does not know that the previous URL was ours.
  if (isCreate && seen.isReplaced) return true;
  if (!world.isOurs(seen.workspace, registration)) return isCreate || isUnseen;
  const names = [declared.name, ...declared.aliases];
  const isAnother = stored.some((one) => one.isPendingDelete || !names.includes(one.name));
  return isUnrecorded || (isCreate && isAnother);
}

/** Whether the last successful read reached the bot with this base URL and this API key. */
export function isProven(world: World, workspace: WorkspaceName): boolean {
  const { reached } = world.known[workspace];
  const isSameAddress = !world.program.has(workspace) || reached?.baseUrl === world.baseUrlOf(workspace);
  return isSameAddress && reached?.apiKey === SECRETS.apiKey(world.serviceKey);
}

/** Checks a command against every promise, and updates what is known. */
export function judge(world: World, { seen, printed }: Awaited<ReturnType<World["run"]>>): void {
  for (const { workspace, writes } of seen) {
    const declared = world.program.get(workspace);
    // A set-webhook with other values restores what was registered before, which may be somebody else's.
    if (declared && writes.some(({ operation }) => operation === "set-webhook"))
      world.known[workspace].ours.push(world.wanted(declared));
  }
  const broken = seen.flatMap((one) =>
    Object.entries(PROMISES).flatMap(([promise, findWrong]) => {
      const wrong = findWrong(world, one);
      return wrong ? [`${one.workspace}: ${promise}: ${wrong}`] : [];
    }),
  );
  expect([...broken, ...findShownSecrets(world, seen, printed)]).toEqual([]);
  for (const one of seen) learn(world, one);
}

/** Finds secrets in the output, and those API keys in the state that do not come from the program. */
function findShownSecrets(world: World, seen: Seen[], printed: string[]): string[] {
  const failures = seen.flatMap((one) => one.failures.flatMap(({ error }) => textsOf(error)));
  const ids = world.engine.state.map(({ id }) => id);
  const numbers = Array.from({ length: world.serviceKey + world.foreignCount + 3 }, (_, number) => number);
  const secrets = Object.values(SECRETS).flatMap((secret) => numbers.map(secret));
  const apiKeys = numbers.map(SECRETS.apiKey);
  const state = JSON.stringify(world.engine.state.filter(({ inputs }) => inputs["apiKey"] === undefined));
  return [
    ...findSecrets([...failures, ...ids, ...printed].join("\n"), secrets).map((leak) => `shown: ${leak}`),
    ...findSecrets(state, apiKeys).map((leak) => `in the state: ${leak}`),
  ];
}

function learn(world: World, seen: Seen): void {
  const { command, workspace, ok, after, killed, failures, requests } = seen;
  const known = world.known[workspace];
  const isDeclared = world.program.has(workspace);
  // The workspace's resource is no longer in the state.
  const isLeft = after.stored.length === 0;
  if (isLeft && isAtOtherBot(world, seen)) known.ours = [];
  if (ok && seen.isRefreshing) known.isUnseen = false;
  // A run that failed or was killed may or may not have recorded its effect.
  if (command === "up" && (ok ? !isDeclared : requests.length > 0)) known.reached = undefined;
  if (ok && command === "up" && isDeclared && after.registration && couldSee(world, seen)) {
    known.isUnseen = known.isUnrecorded = false;
    known.ours.push(after.registration);
    known.reached = { baseUrl: world.baseUrlOf(workspace), apiKey: SECRETS.apiKey(world.givenKey) };
  }
  // A create that succeeded has adopted the registration, even if another resource of the run failed.
  const isAdopted = command === "up" && seen.before.stored.length === 0 && after.stored.length > 0;
  if (isAdopted && after.registration) known.ours.push(after.registration);
  const isLost = (action: string): boolean =>
    requests.some((request) => request.operation === action && isSpoilt(request));
  const hasFailed = (method: string): boolean => failures.some((failure) => failure.method === method);
  const isUnknown = isLost("get-webhook") && isLost("set-webhook");
  // The webhook was kept for a new resource, which the failed run then did not create.
  const isOrphan = !ok && command === "up" && seen.before.stored.length > 0 && isLeft;
  // A rejected create leaves a webhook that was there before as it was.
  const wasThere = after.registration && isDeepStrictEqual(seen.before.registration, after.registration);
  // The previous webhook could not be restored, or the response that would confirm it was lost.
  const isLeftToRefresh = failures.some(({ error }) =>
    textsOf(error).some((text) => text.includes("run pulumi refresh, then pulumi up")),
  );
  known.isUnrecorded ||=
    killed !== undefined ||
    isOrphan ||
    (hasFailed("create") && (isUnknown || (isLeft && wasThere))) ||
    (isLeftToRefresh && isLost("set-webhook"));
  // An interrupted run removed the webhook of two resources; one of them is still in the state.
  const isRemoved =
    seen.writes.some(({ operation }) => operation === "delete-webhook") && !after.registration;
  known.isUnseen ||=
    (isRemoved && after.stored.length > 0) ||
    isLeftToRefresh ||
    // The state of a replaced resource does not show what its killed create has set.
    (killed !== undefined && (killed.method !== "create" || after.stored.length > 0)) ||
    (hasFailed("delete") && isLost("get-webhook"));
}
