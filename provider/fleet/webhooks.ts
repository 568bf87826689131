import { invalidConfig } from "../lib/files.js";
import { createRedactor } from "../lib/redact.js";
import type { ResolvedFleet, WebhookArguments } from "./definition.js";
import type { PlacedStack } from "./placement.js";

export type Webhooks = ReadonlyMap<string, WebhookArguments>;

export function callWebhook({ webhook, rotations }: ResolvedFleet, stacks: readonly PlacedStack[]): Webhooks {
  const webhooks = new Map<string, WebhookArguments>();
  const problems: string[] = [];
  for (const workspace of stacks.flatMap(({ workspaces }) => workspaces)) {
    const { name } = workspace;
    try {
      const args = webhook(workspace, { rotations });
      problems.push(...problemsOf(args).map((problem) => `webhook: for ${name}, ${problem}`));
      webhooks.set(name, args);
    } catch (error) {
      const redact = createRedactor(workspace.apiKey === undefined ? [] : [workspace.apiKey]);
      problems.push(
        `webhook: for ${name}, it threw: ${redact(String((error as Error | undefined)?.message ?? error))}`,
      );
    }
  }
  rejectAny(problems);
  return webhooks;
}

/** How many problems an error lists at most: a mistake in `webhook` may cause one for every workspace. */
const MAX_LISTED = 5;

export function rejectAny(problems: readonly string[]): void {
  const more = problems.length - MAX_LISTED;
  const rest = more > 0 ? [`webhook: ${more} more like these`] : [];
  if (problems.length > 0) throw invalidConfig([...problems.slice(0, MAX_LISTED), ...rest]);
}

const EXAMPLE = "return { baseUrl, webhookUrl, webhookVerificationKey: { derivedFrom, rotations } }";

function problemsOf(args: unknown): string[] {
  if (!isRecord(args)) return [`it must return a plain object, not a promise; ${EXAMPLE}`];
  const { baseUrl, webhookUrl, webhookVerificationKey: key } = args;
  const missing = Object.entries({ baseUrl, webhookUrl })
    .filter(([, value]) => typeof value !== "string")
    .map(([name]) => `${name} must be a string; ${EXAMPLE}`);
  if (typeof key !== "string" && !isRecord(key))
    missing.push(`webhookVerificationKey must be a string or the arguments of a VerificationKey; ${EXAMPLE}`);
  else if (typeof key !== "string" && key["rotation"] !== undefined)
    missing.push('webhookVerificationKey.rotation must not be set: the command "rotate" sets it');
  const wrong = Object.entries(args)
    .filter(([, value]) => !isPlain(value))
    .map(([name]) => `${name} must have plain values only: no Output, no promise, no function`);
  return [...missing, ...wrong];
}

/** Outputs of the SDK, promises and functions cannot be written as YAML, nor cloned. */
function isPlain(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

export function webhooksOf({ workspaces }: PlacedStack, webhooks: Webhooks): Webhooks {
  const names = new Set(workspaces.map(({ name }) => name));
  return new Map([...webhooks].filter(([name]) => names.has(name)));
}

/** Whether any key is random: such a key is lost if the run is killed before a checkpoint has stored it. */
export const hasRandomKey = (webhooks: Webhooks): boolean =>
  [...webhooks.values()].some(
    ({ webhookVerificationKey: key }) => typeof key === "object" && key.derivedFrom === undefined,
  );
