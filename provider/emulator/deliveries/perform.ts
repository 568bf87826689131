import { SIGNATURE_HEADER, signBody } from "../../responder/signature.js";
import { keyOf, type Conversation } from "../conversations.js";
import type { EmulatorState } from "../emulator-state.js";
import { takeFault, type DeliveryFault } from "../faults.js";
import type { Outgoing, OutgoingResult } from "../outgoing.js";
import type { DeliveryAttempt, DeliveryRecord } from "../records.js";
import { sleep } from "../sleep.js";
import { deliverableRegistration, type Registration, type WorkspaceState } from "../workspace-state.js";
import { judgeAnswer } from "./judge.js";
import { recordCopy } from "./record.js";
import { postStruck } from "./struck-post.js";
import type { TurnEnd } from "./turns.js";

/** A delivery with all that its tries need. */
export interface DeliveryJob {
  state: EmulatorState;
  workspace: WorkspaceState;
  conversation: Conversation;
  delivery: DeliveryRecord;
  /** Time limit of one try, if it is not that of the settings. */
  timeoutMs?: number | undefined;
  /** Sent in place of the right signature. */
  signature?: string | undefined;
}

/** Tries a delivery until it has a verdict. When the emulator closes it stays pending. */
export async function performDelivery(job: DeliveryJob, overtakes: boolean): Promise<TurnEnd> {
  const { state, workspace } = job;
  let except: DeliveryFault | undefined = overtakes ? "reorder" : undefined;
  while (await waitForTry(job)) {
    const fault = takeFault(state, "delivery", workspace.name, except);
    if (fault === "reorder") return "after-next";
    // A retry stays where it is.
    except = "reorder";
    await tryOnce(job, fault);
    if (fault === "duplicate") await performCopy(job);
  }
  return "through";
}

async function performCopy(job: DeliveryJob): Promise<void> {
  if (outgoingOf(job).closing.aborted) return;
  const copy = { ...job, delivery: recordCopy(job.state, job.workspace, job.delivery) };
  while (await waitForTry(copy)) await tryOnce(copy, undefined);
}

/** Whether a try is to be made, when its moment has come. */
async function waitForTry(job: DeliveryJob): Promise<boolean> {
  const { state, delivery } = job;
  if (delivery.verdict !== "pending") return false;
  await sleep(delivery.dueAt.getTime() - Date.now(), outgoingOf(job).closing);
  if (state.outgoing.closing.aborted) return false;
  if (isHeld(job) && !outgoingOf(job).closing.aborted) return true;
  // Nobody is told: it has gone with its conversation.
  delivery.verdict = "failed";
  delivery.reason = "its workspace or its conversation was removed";
  return false;
}

function isHeld({ state: { directory }, workspace, conversation }: DeliveryJob): boolean {
  const isKnown = directory.get(workspace.name) === workspace;
  return isKnown && workspace.conversations.get(keyOf(conversation)) === conversation;
}

/** A request of a delivery ends with the emulator, or with its conversation. */
function outgoingOf({ state, conversation }: DeliveryJob): Outgoing {
  const { dispatcher, closing } = state.outgoing;
  return { dispatcher, closing: conversation.turns.until(closing) };
}

async function tryOnce(job: DeliveryJob, fault: DeliveryFault | undefined): Promise<void> {
  const { state, delivery } = job;
  const at = new Date();
  const begun = performance.now();
  const result = await send(job, fault);
  // Whether the endpoint took it is then not known: a restart tries again.
  if (outgoingOf(job).closing.aborted || !isHeld(job)) return;
  const reason = judgeAnswer(result, state.settings.deliveryAnswer);
  const received = "reason" in result ? undefined : result;
  conclude(job, { at, durationMs: performance.now() - begun, received, reason, fault });
  state.changes.publish({ kind: "delivery", delivery });
}

/** To whom and with which key is decided by each try: the registration may have changed since the last. */
async function send(job: DeliveryJob, fault: DeliveryFault | undefined): Promise<OutgoingResult> {
  const { state, workspace, delivery } = job;
  const registration = deliverableRegistration(workspace, state.settings);
  if (!registration) return { reason: "no verified webhook is registered any more" };
  const right = await signBody(registration.webhook_verification_key, delivery.sent);
  const signature = await chooseSignature(job, fault, right, registration);
  delivery.url = registration.webhook_url;
  delivery.signature = signature === right ? "right" : "wrong";
  delivery.headers = {
    "content-type": "application/json",
    [SIGNATURE_HEADER]: signature,
    "x-flow-ns": workspace.flowNs,
    "x-action": "messages",
  };
  const timeoutMs = job.timeoutMs ?? state.settings.deliveryTimeoutMs;
  const { url, headers, sent: body } = delivery;
  return postStruck(outgoingOf(job), { url, headers, body, timeoutMs }, fault);
}

async function chooseSignature(
  { delivery, signature }: DeliveryJob,
  fault: DeliveryFault | undefined,
  right: string,
  { webhook_verification_key: key }: Registration,
): Promise<string> {
  if (fault === "wrong-signature") return signBody(`not ${key}`, delivery.sent);
  const again = delivery.resendOf === undefined ? undefined : delivery.headers[SIGNATURE_HEADER];
  return signature ?? again ?? right;
}

const LONGEST_PAUSE_MS = 24 * 60 * 60 * 1000;

function conclude({ state, delivery }: DeliveryJob, attempt: DeliveryAttempt): void {
  const { deliveryAttempts, deliveryRetryMs } = state.settings;
  const { received, reason } = attempt;
  delivery.attempts.push(attempt);
  delivery.reason = reason;
  delivery.status = received?.status;
  delivery.body = received?.body ?? "";
  const tries = delivery.attempts.length;
  if (reason === "") delivery.verdict = "delivered";
  else if (tries >= deliveryAttempts) delivery.verdict = "failed";
  else delivery.dueAt = new Date(Date.now() + Math.min(deliveryRetryMs * 2 ** (tries - 1), LONGEST_PAUSE_MS));
}
