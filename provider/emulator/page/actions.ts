import type { FaultRule } from "../faults.js";
import type { ContactMessageAnswer, ReplyAnswer, WorkspaceView } from "../control/shapes.js";
import { ApiError, call, describeRefusal, routeOf } from "./api.js";
import { readAddress } from "./address.js";
import { emptyData, type Scope } from "./apply-events.js";
import { t } from "./i18n/translate.js";
import { connect } from "./live.js";
import { loadAll, loadScope, turnTo } from "./loading.js";
import { attempt, tell } from "./notices.js";
import { agentBody, contactBody, type AgentInput, type ContactInput, type Party } from "./outgoing-bodies.js";
import { begun, data, linked, revealed, view } from "./store.js";

/** Shows a workspace, or one of its conversations. */
export function choose(scope: Scope): void {
  begun.value = null;
  linked.value = null;
  void attempt(() => loadScope(scope));
}

/** Takes what an address names for chosen, as far as it is not to be loaded; gives the rest. */
export function adoptAddress(fragment: string): Scope {
  const { scope, exchange } = readAddress(fragment);
  begun.value = null;
  linked.value = exchange;
  if (exchange !== null) view.value = "wire";
  return scope;
}

/** Shows what a link names that was followed in the open page. */
export function follow(fragment: string): void {
  turnTo(adoptAddress(fragment));
  void attempt(loadAll);
}

/** Begins a conversation; the emulator knows of it with the first message. */
export function begin(workspace: string, party: Party): void {
  const known = findConversation(workspace, party);
  view.value = "chat";
  choose({ workspace, conversation: known ?? null });
  if (known === undefined) begun.value = party;
}

/** Shows the begun conversation as soon as the emulator has it. */
export function adoptBegun(): void {
  const { workspace } = data.value.scope;
  if (begun.value === null || workspace === null) return;
  const conversation = findConversation(workspace, begun.value);
  if (conversation !== undefined) choose({ workspace, conversation });
}

function findConversation(workspace: string, party: Party): string | undefined {
  const found = [...data.value.conversations.values()].find(
    (item) =>
      item.workspace === workspace &&
      item.contactId === party.contactId &&
      item.conversationId === party.conversationId,
  );
  return found?.id;
}

/** Sends as the contact; throws when `bot_url` does not take it. */
export async function sendAsContact(workspace: string, party: Party, input: ContactInput): Promise<void> {
  const route = routeOf(["workspaces", workspace, "messages"]);
  const answer = await call<ContactMessageAnswer>("POST", route, contactBody(party, input));
  // A redirect is none of the control API's errors.
  if (answer.status >= 300) throw new ApiError(describeRefusal(answer));
}

/** Answers as the agent. */
export async function sendAsAgent(workspace: string, party: Party, input: AgentInput): Promise<void> {
  const route = routeOf(["workspaces", workspace, "replies"]);
  const { delivery } = await call<ReplyAnswer>("POST", route, agentBody(party, input));
  if (delivery === null) tell(t("compose.notDelivered"));
}

/** Sends a delivery again: the same bytes with the same signature, signed anew, or with another body. */
export async function resend(deliveryId: string, how: { sign?: boolean; body?: string } = {}): Promise<void> {
  await call("POST", routeOf(["deliveries", deliveryId, "resend"]), JSON.stringify(how));
  tell(how.sign === undefined ? t("wire.resendDone") : t("wire.sentAgain"));
}

/** Changes settings of a workspace. */
export async function changeWorkspace(
  name: string,
  change: Partial<Pick<WorkspaceView, "flow" | "mayManageFlow">>,
): Promise<void> {
  await call("PATCH", routeOf(["workspaces", name]), JSON.stringify(change));
}

/** Makes a workspace and shows it. */
export async function createWorkspace(name: string, apiKey: string): Promise<void> {
  await call("POST", routeOf(["workspaces"]), JSON.stringify({ name, apiKey }));
  choose({ workspace: name, conversation: null });
}

/** Removes a workspace and all that belongs to it. */
export async function deleteWorkspace(name: string): Promise<void> {
  await call("DELETE", routeOf(["workspaces", name]));
}

/** Registers as somebody else would, without a handshake. */
export async function registerOutside(name: string, url: string, key: string): Promise<void> {
  const body = JSON.stringify({ webhook_url: url, webhook_verification_key: key });
  await call("PUT", routeOf(["workspaces", name, "registration"]), body);
  tell(t("registration.outsideSetDone"));
}

/** Removes the registration as somebody else would. */
export async function removeOutside(name: string): Promise<void> {
  await call("DELETE", routeOf(["workspaces", name, "registration"]));
  tell(t("registration.outsideRemoveDone"));
}

/** Injects a fault. */
export async function addFault(rule: FaultRule): Promise<void> {
  await call("POST", routeOf(["faults"]), JSON.stringify(rule));
}

/** Removes one fault. */
export async function removeFault(id: string): Promise<void> {
  await call("DELETE", routeOf(["faults", id]));
}

/** Removes all faults. */
export async function clearFaults(): Promise<void> {
  await call("DELETE", routeOf(["faults"]));
}

/** Removes all records, and the workspaces too if asked. */
export async function resetEmulator(workspaces: boolean): Promise<void> {
  await call("POST", routeOf(["reset"]), JSON.stringify({ workspaces }));
  tell(t("reset.done"));
}

/** Asks for the secrets, or for their masks. */
export function reveal(shown: boolean): void {
  revealed.value = shown;
  // Nothing revealed stays, even if the emulator cannot be reached.
  if (!shown) data.value = emptyData(data.value.scope);
  connect();
}
