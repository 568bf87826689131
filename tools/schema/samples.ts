/**
 * One right value of every shape on the wire. The examples of schema/openapi.json, and what the tests start from when they
 * put another value at one field.
 */

const sender = { id: "u-1", name: "Ana", email: "", phone_number: "", type: "contact" };
const inbound = { message_type: "incoming", sender, conversation_id: 42 };
const outbound = { sender_id: "u-1", conv_id: 42, message_type: "outgoing", private: false };
const button = { type: "postback", title: "Yes", payload: "YES" };
const card = {
  title: "A card",
  image_url: "https://cdn.example/a.png",
  item_url: null,
  subtitle: "below",
  default_action: null,
  buttons: [button],
};

/** What stands in the addresses: `/{workspace}/apichat` and `/api/apichat/{bot_code}`. */
export const sampleAddress = { workspace: "acme", botCode: "f3a1c09b" } as const;

const configuration = {
  webhook_url: "https://chat.example/hook",
  webhook_verification_key: "a-verification-key",
  webhook_status: "verified",
  bot_url: `https://bots.example/api/apichat/${sampleAddress.botCode}`,
};

/** The four fields after a removal, and where nothing was ever registered. */
export const emptyConfiguration = {
  webhook_url: "",
  webhook_verification_key: "",
  webhook_status: "",
  bot_url: "",
};

/** By the name of the shape. */
export const samples = {
  GetWebhookRequest: { ChaveApi: "an-api-key" },
  SetWebhookRequest: {
    ChaveApi: "an-api-key",
    webhook_url: configuration.webhook_url,
    webhook_verification_key: configuration.webhook_verification_key,
  },
  DeleteWebhookRequest: { ChaveApi: "an-api-key" },
  WebhookConfiguration: configuration,
  RegistrationEnvelope: { status: "ok", data: configuration },
  HandshakeParameters: {
    hub_mode: "subscribe",
    hub_verify_token: configuration.webhook_verification_key,
    hub_challenge: "c0ffee",
  },
  InboundTextMessage: { ...inbound, event: "message_created", content: "hello" },
  InboundButtonMessage: {
    ...inbound,
    event: "message_postback",
    content: "Yes",
    submitted_values: [{ title: "Yes", payload: "YES" }],
  },
  InboundImageMessage: inboundMedia("image"),
  InboundAudioMessage: inboundMedia("audio"),
  InboundVideoMessage: inboundMedia("video"),
  InboundFileMessage: inboundMedia("file"),
  OutboundText: { ...outbound, type: "text", text: "hello" },
  OutboundImage: outboundMedia("image"),
  OutboundAudio: outboundMedia("audio"),
  OutboundVideo: outboundMedia("video"),
  OutboundFile: outboundMedia("file"),
  OutboundButtonTemplate: {
    ...outbound,
    type: "text",
    text: "Sure?",
    content_type: "button_template",
    content_attributes: { text: "Sure?", buttons: [button] },
  },
  OutboundGenericTemplate: {
    ...outbound,
    type: "text",
    text: "Look",
    content_type: "generic_template",
    content_attributes: { ratio: "horizontal", items: [card] },
  },
};

export type SampleName = keyof typeof samples;

function inboundMedia(fileType: string) {
  const attachment = { file_type: fileType, data_url: "https://cdn.example/a" };
  return { ...inbound, event: "message_created", content: "", attachments: [attachment] };
}

function outboundMedia(type: string) {
  return { ...outbound, type, url: "https://cdn.example/a" };
}
