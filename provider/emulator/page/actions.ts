import type { SentMessage } from "../contact.js";
import type { ReplyAnswer } from "../control/shapes.js";
import { ApiError, describeRefusal, send } from "./api.js";
import { emptyData, type Scope } from "./data.js";
import { connect, load } from "./live.js";
import type { SubmittedValue } from "../../../schema/inbound.js";
import { agentBody, contactBody, pressBody, type Draft, type Party } from "./messages.js";
import { attempt, showDone } from "./notices.js";
import { begun, conversations, data, held, linked, revealed, turnTo, view } from "./store.js";
import { keyOf, type ExchangeId } from "./wire.js";

/** Shows a workspace, or one of its conversations or exchanges. */
export function choose(scope: Scope, exchange?: ExchangeId | null): void {
  turnTo(scope, exchange);
  void attempt(load);
}

/** Shows an exchange of the chosen workspace beside what is open. */
export function showExchange(exchange: ExchangeId): void {
  held.value = null;
  linked.value = exchange;
  view.value = "wire";
  if (!data.value.exchanges.has(keyOf(exchange.kind, exchange.id))) void attempt(load);
}

/** Begins a conversation in the chosen workspace. The emulator knows of it with the first message. */
export function begin(party: Party): void {
  view.value = "chat";
  choose({ ...data.value.scope, conversation: null });
  begun.value = party;
}

/** Shows the begun conversation as soon as the emulator has it. */
export function adoptBegun(): void {
  const { contactId, conversationId } = begun.value ?? {};
  const isBegun = (item: Party) => item.contactId === contactId && item.conversationId === conversationId;
  const found = conversations.value.find(isBegun);
  if (found !== undefined) choose({ workspace: found.workspace, conversation: found.id });
}

const chosenWorkspace = (): string => data.value.scope.workspace ?? "";

/** Writes as the contact. Throws if `bot_url` does not accept it. */
export const writeAsContact = (party: Party, draft: Draft): Promise<void> =>
  sendAsContact(contactBody(party, draft));

/** Presses a button as the contact. Throws if `bot_url` does not accept it. */
export const pressAsContact = (party: Party, button: SubmittedValue): Promise<void> =>
  sendAsContact(pressBody(party, button));

async function sendAsContact(body: string): Promise<void> {
  const answer = await send<SentMessage>("POST", ["workspaces", chosenWorkspace(), "messages"], body);
  // For the control API a redirect is not an error.
  if (answer.status >= 300) throw new ApiError(describeRefusal(answer));
}

/** Replies as the agent. */
export async function replyAsAgent(party: Party, draft: Draft): Promise<void> {
  const body = agentBody(party, draft);
  const { delivery } = await send<ReplyAnswer>("POST", ["workspaces", chosenWorkspace(), "replies"], body);
  if (delivery === null) showDone("No webhook is registered: the reply was not delivered.");
}

/** Sends a delivery again: the same bytes with the same signature, signed again, or with another body. */
export async function resend(deliveryId: string, how: { sign?: boolean; body?: string } = {}): Promise<void> {
  await send("POST", ["deliveries", deliveryId, "resend"], how);
  showDone("Sent again.");
}

/** Shows the secrets, or their masks. */
export function reveal(shown: boolean): void {
  revealed.value = shown;
  // No secret stays on the page, even if the emulator cannot be reached.
  if (!shown) data.value = emptyData(data.value.scope);
  connect();
}
