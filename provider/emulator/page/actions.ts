import type { SentMessage } from "../contact.js";
import type { DeliveryRecord } from "../state.js";
import { describeRefusal, read, send } from "./api.js";
import { applyEvents, emptyData, type Party, type Scope } from "./data.js";
import { connect, load } from "./live.js";
import type { SubmittedValue } from "../../../schema/inbound.js";
import type { MediaKind } from "../../../schema/message-kind.js";
import { attempt } from "./errors.js";
import { begun, conversations, data, revealed } from "./store.js";

/** Shows a workspace, or one of its conversations. */
export function choose(scope: Scope): void {
  begun.value = null;
  data.value = { ...data.value, scope, messages: new Map(), exchanges: new Map() };
  // On a narrow screen, the chat is below the list.
  if (scope.conversation !== null) document.querySelector("#chat")?.scrollIntoView();
  void attempt(load);
}

/** Shows a delivery of the chosen workspace in the wire panel, even if later deliveries have displaced it. */
export async function showDelivery(id: string): Promise<void> {
  if (!data.value.exchanges.has(id)) {
    const delivery = await read<DeliveryRecord>(["deliveries", id]);
    data.value = applyEvents(data.value, [{ type: "delivery", delivery }]);
  }
  // Waits until the delivery has been drawn.
  requestAnimationFrame(() => {
    const exchange = document.querySelector<HTMLDetailsElement>(`#${id}`);
    if (exchange === null) return;
    exchange.open = true;
    exchange.querySelector("summary")?.focus();
    exchange.scrollIntoView();
  });
}

/** Starts a conversation in the chosen workspace. The emulator learns of it with the first message. */
export function begin(party: Party): void {
  choose({ ...data.value.scope, conversation: null });
  begun.value = party;
}

/** Shows the new conversation as soon as the emulator has it. */
export function adoptBegun(): void {
  const { contactId, conversationId } = begun.value ?? {};
  const isBegun = (item: Party) => item.contactId === contactId && item.conversationId === conversationId;
  const found = conversations.value.find(isBegun);
  if (found !== undefined) choose({ workspace: found.workspace, conversation: found.id });
}

const chosenWorkspace = (): string => data.value.scope.workspace ?? "";

/** What the form sends: a text, or the URL of a media file. */
export interface Draft {
  kind: "text" | MediaKind;
  content: string;
}

export function writeAsContact(party: Party, { kind, content }: Draft): Promise<void> {
  const attachments = [{ file_type: kind, data_url: content }];
  const fields = kind === "text" ? { content } : { content: "", attachments };
  return sendAsContact(party, { event: "message_created", ...fields });
}

export const pressAsContact = (party: Party, { title, payload }: SubmittedValue): Promise<void> =>
  sendAsContact(party, {
    event: "message_postback",
    content: title,
    submitted_values: [{ title, payload }],
  });

async function sendAsContact(party: Party, fields: object): Promise<void> {
  const { contactId: id, contactName: name } = party;
  const sender = { id, name, email: "", phone_number: "", type: "contact" };
  const body = withDigits("conversation_id", party, { ...fields, message_type: "incoming", sender });
  const answer = await send<SentMessage>("POST", ["workspaces", chosenWorkspace(), "messages"], body);
  // The control API responds with 200 even if `bot_url` responds with a redirect.
  if (answer.status >= 300) throw new Error(describeRefusal(answer));
}

/** Replies as the agent (section 2.4). The emulator adds the fields that are the same in every reply. */
export function replyAsAgent(party: Party, { kind, content }: Draft): Promise<unknown> {
  const fields = { sender_id: party.contactId, type: kind, [kind === "text" ? "text" : "url"]: content };
  const body = withDigits("conv_id", party, fields);
  return send("POST", ["workspaces", chosenWorkspace(), "replies"], body);
}

/** JSON.stringify would round a conversation id beyond the safe integers. */
const withDigits = (key: string, { conversationId }: Party, rest: object): string =>
  `{"${key}":${conversationId},${JSON.stringify(rest).slice(1)}`;

/** Sends a delivery again and shows the copy. */
export async function resend(deliveryId: string): Promise<void> {
  const { id } = await send<DeliveryRecord>("POST", ["deliveries", deliveryId, "resend"]);
  await showDelivery(id);
}

export function reveal(shown: boolean): void {
  revealed.value = shown;
  // No secret stays on the page, even if the emulator cannot be reached.
  if (!shown) data.value = emptyData(data.value.scope);
  connect();
}
