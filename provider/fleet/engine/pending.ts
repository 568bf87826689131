import type { Deployment, Stack } from "@pulumi/pulumi/automation/index.js";

/** The part of a state that is read here. */
interface StateInPart {
  pending_operations?: { type: string; resource: { urn: string } }[];
}

/** What a killed run was creating: the service may hold it, the state does not. */
export async function findPending(stack: Stack): Promise<string[]> {
  const { deployment }: Deployment = await stack.exportStack();
  const { pending_operations: pending = [] } = deployment as StateInPart;
  const names = pending
    .filter(({ type }) => type === "creating")
    .map(({ resource }) => resource.urn.split("::").slice(3).join("::"));
  return [...new Set(names)];
}

/** Throws if there is such a thing, because a destroy would leave it behind. An `up` adopts it. */
export async function requireNoneForgotten(stack: Stack): Promise<void> {
  const names = await findPending(stack);
  if (names.length === 0) return;
  throw new Error(
    `an earlier run was killed while it created ${names.join(", ")}, so nothing was removed: run up first, which adopts what was created; or "pulumi refresh --clear-pending-creates --stack ${stack.name}", which forgets it`,
  );
}
