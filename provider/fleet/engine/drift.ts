import { hideQuery } from "../../lib/url.js";
import type { DriftedProperty } from "../../webhook/contract.js";
import type { Drift } from "../reports.js";

/** The inputs and outputs of a webhook as an engine event shows them: secrets are objects. */
export interface ShownWebhook {
  id: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
}

export interface RefreshedWebhook {
  before: ShownWebhook | undefined;
  /** undefined: nothing is registered any more. */
  after: ShownWebhook | undefined;
}

/** How the service differs from what was last applied, as the provider's read found it; undefined if it does not. */
export function readDrift({ before, after }: RefreshedWebhook): Drift | undefined {
  if (after === undefined) return { kind: "gone", properties: before ? [goneUrl(before)] : [] };
  const properties = (after.outputs["drift"] ?? []) as DriftedProperty[];
  if (properties.length === 0) return undefined;
  const drifted = new Set(properties.map(({ property }) => property));
  const isTakenOver = drifted.has("webhookUrl") && drifted.has("webhookVerificationKey");
  return { kind: isTakenOver ? "taken-over" : "changed", properties };
}

const goneUrl = (before: ShownWebhook): DriftedProperty => ({
  property: "webhookUrl",
  expected: hideQuery(textOf(before.inputs["webhookUrl"]) ?? "[secret]"),
  actual: "(nothing is registered)",
});

/** A value that is neither secret nor unknown. */
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
