import type { Failure, StackReport, WebhookReport } from "../reports.js";
import { hasNewKey } from "./keys.js";
import type { ResolvedStack } from "../resolve.js";

const NOT_ROTATED =
  "its key was not rotated: the program must pass the rotation on, as in new VerificationKey(name, { rotation: stack.rotation })";

/** What the `up` of a rotation left undone in a stack. */
export const findUnrotated = (place: ResolvedStack, up: StackReport): Failure[] =>
  judge(place, up, (webhook) => (hasNewKey(webhook) ? undefined : NOT_ROTATED));

/** What a look at the service finds wrong after the `up` of a rotation. */
export const findUnverified = (place: ResolvedStack, seen: StackReport): Failure[] =>
  judge(
    place,
    seen,
    (webhook) => describeDrift(webhook) ?? describeStatus(webhook) ?? describeChange(webhook),
  );

function judge(
  { name: stack, workspaces }: ResolvedStack,
  { webhooks }: StackReport,
  describe: (webhook: WebhookReport) => string | undefined,
): Failure[] {
  const byName = new Map(webhooks.map((webhook) => [webhook.workspace, webhook]));
  return workspaces.flatMap(({ name: workspace }) => {
    const webhook = byName.get(workspace);
    const message = webhook ? describe(webhook) : "the program declares no webhook of this name";
    return message === undefined ? [] : [{ workspace, stack, message }];
  });
}

function describeDrift({ drift }: WebhookReport): string | undefined {
  if (drift === undefined) return undefined;
  if (drift.kind === "gone") return "after the rotation nothing is registered at the service";
  const whose = drift.kind === "taken-over" ? "somebody else's webhook" : "something else than was set";
  return `after the rotation the service shows ${whose}: ${drift.properties.map(({ property }) => property).join(", ")}`;
}

/** A status that no refresh told is that of the `up`. */
const describeStatus = ({ status }: WebhookReport): string | undefined =>
  status === "verified"
    ? undefined
    : `after the rotation its status is ${JSON.stringify(status ?? "unknown")}, not "verified"`;

const describeChange = ({ change }: WebhookReport): string | undefined =>
  change === "same"
    ? undefined
    : `after the rotation the next up would ${change} it still: the program does not come to rest`;
