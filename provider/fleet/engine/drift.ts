import type { HiddenUrlChange } from "../../webhook/hidden-url.js";
import { VERIFIED } from "../../webhook/inputs.js";
import { hideQuery } from "../../lib/url.js";
import type { Drift, DriftedProperty } from "../reports.js";

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
  /** What the provider said of a URL that is secret: to the recorded one from what the service shows. */
  hiddenUrl: HiddenUrlChange | undefined;
}

const SECRET = "[secret]";
const NOTHING = "(nothing is registered)";

/** How the service differs from what was last applied; undefined if it does not. */
export function readDrift({ before, after, hiddenUrl }: RefreshedWebhook): Drift | undefined {
  if (after === undefined) return { kind: "gone", properties: before ? [goneUrl(before)] : [] };
  const url = driftedUrl(before, after) ?? (hiddenUrl && fromHidden(hiddenUrl));
  const key = after.outputs["keyDrifted"] === true ? driftedKey : undefined;
  const properties = [url, key, driftedStatus(after), driftedBot(before, after)].filter(
    (property) => property !== undefined,
  );
  if (properties.length === 0) return undefined;
  return { kind: url && key ? "taken-over" : "changed", properties };
}

const goneUrl = (before: ShownWebhook): DriftedProperty => ({
  property: "webhookUrl",
  expected: hideQuery(textOf(before.inputs["webhookUrl"]) ?? SECRET),
  actual: NOTHING,
});

const driftedKey: DriftedProperty = {
  property: "webhookVerificationKey",
  expected: SECRET,
  actual: SECRET,
};

const fromHidden = ({ from, to }: HiddenUrlChange): DriftedProperty => ({
  property: "webhookUrl",
  expected: to,
  actual: from,
});

/** `applied` holds a URL only where it differs; the state before tells it where `applied` is secret. */
function driftedUrl(before: ShownWebhook | undefined, after: ShownWebhook): DriftedProperty | undefined {
  const expected = appliedOf(after)["url"] ?? before?.inputs["webhookUrl"];
  return differing("webhookUrl", expected, after.outputs["webhookUrl"]);
}

function driftedBot(before: ShownWebhook | undefined, after: ShownWebhook): DriftedProperty | undefined {
  const expected = appliedOf(after)["botUrl"] ?? before?.outputs["botUrl"];
  return differing("botUrl", expected, after.outputs["botUrl"]);
}

const driftedStatus = (after: ShownWebhook): DriftedProperty | undefined =>
  differing("status", VERIFIED, after.outputs["status"]);

function differing(
  property: DriftedProperty["property"],
  expected: unknown,
  actual: unknown,
): DriftedProperty | undefined {
  if (typeof expected !== "string" || typeof actual !== "string" || expected === actual) return undefined;
  return { property, expected: hideQuery(expected), actual: hideQuery(actual) };
}

function appliedOf({ outputs }: ShownWebhook): Record<string, unknown> {
  const applied = outputs["applied"];
  return typeof applied === "object" && applied !== null ? (applied as Record<string, unknown>) : {};
}

/** A value that is neither secret nor unknown. */
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
