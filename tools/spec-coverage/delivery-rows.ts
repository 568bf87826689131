import { fieldRows, testsIn, type CoverageRow } from "./row.ts";

const reply = testsIn("test/unit/emulator/replies.test.ts");
const workspace = testsIn("test/unit/emulator/workspace.test.ts");
const reading = testsIn("test/unit/emulator/delivery-readings.test.ts");

const responder = testsIn("test/unit/responder/responder.test.ts");
const taken = {
  responder: testsIn("test/unit/responder/test-requests.test.ts")(
    "makes a %s that is verified and valid in every field",
  ),
};
const written = {
  responder: testsIn("test/unit/schema/parse-outbound.test.ts")(
    "is read where it means the same: $name $path $values",
  ),
};
const delivered = { responder: responder("reaches the handler whole and is answered with 200") };
const verified = { responder: responder("is verified with every key, and says with which") };

const shapes = ["schema/outbound.ts", "provider/emulator/flows/flow.ts"];
const deliveries = ["provider/emulator/deliveries/perform.ts"];

const arrives = reply("of kind %s arrives with exactly its fields, and is read as that kind");
const addressed = reply("of kind %s is addressed to the contact and the conversation of the message");
const posted = workspace(
  "posts the message to the registered URL with the headers and the signature of its bytes",
);

/** The seven kinds of section 2.4. */
export const replyKinds = [
  "text",
  "image",
  "audio",
  "video",
  "file",
  "button_template",
  "generic_template",
] as const;

/** Sections 2.4, 4.3, 5 and 6.2: what the service posts to the webhook URL. */
export const deliveryRows: readonly CoverageRow[] = [
  ...fieldRows(
    { section: "2.4", schemas: ["outbound", "received-outbound"], where: shapes, parts: taken },
    {
      sender_id: addressed,
      conv_id: addressed,
      type: arrives,
      message_type: addressed,
      private: addressed,
      text: arrives,
      url: arrives,
      content_type: arrives,
      content_attributes: arrives,
      "content_attributes.text": arrives,
      "content_attributes.buttons": arrives,
      "content_attributes.buttons[].type": arrives,
      "content_attributes.buttons[].title": arrives,
      "content_attributes.buttons[].payload": arrives,
      "content_attributes.ratio": arrives,
      "content_attributes.items": arrives,
      "content_attributes.items[].title": arrives,
      "content_attributes.items[].image_url": arrives,
      "content_attributes.items[].item_url": arrives,
      "content_attributes.items[].subtitle": arrives,
      "content_attributes.items[].default_action": arrives,
      "content_attributes.items[].buttons": arrives,
      "content_attributes.items[].buttons[].type": arrives,
      "content_attributes.items[].buttons[].title": arrives,
      "content_attributes.items[].buttons[].payload": arrives,
    },
  ),
  ...replyKinds.map((kind) => ({
    section: "2.4",
    what: `kind ${kind}`,
    where: ["provider/emulator/flows/flow.ts"],
    shownBy: arrives,
    parts: taken,
  })),
  {
    section: "2.4",
    what: "how null, lists and numbers are written: not shown",
    where: ["schema/received-outbound.ts", "schema/parse-outbound.ts"],
    shownBy: arrives,
    parts: written,
  },
  {
    section: "2.4",
    what: "`conv_id` = `conversation_id`: not shown",
    where: ["provider/emulator/deliveries/delivery.ts"],
    shownBy: addressed,
  },
  {
    section: "2.4",
    what: "structure of `default_action`: not shown",
    switches: ["defaultAction"],
    where: ["provider/emulator/flows/flows.ts"],
    shownBy: reading("%s is what the cards of the menu have"),
    parts: written,
  },
  {
    section: "4.3",
    what: "handshakes and deliveries come to the same URL",
    where: ["provider/emulator/service/handshake.ts", ...deliveries],
    shownBy: posted,
    parts: { responder: responder("answers a handshake whose signature is wrong") },
  },
  {
    section: "5",
    what: "signature: HMAC-SHA-256 over the raw body, `sha256=` and hex",
    where: ["provider/responder/signature.ts", ...deliveries],
    shownBy: posted,
    parts: verified,
  },
  {
    section: "5",
    what: "signed with the `webhook_verification_key`",
    where: deliveries,
    shownBy: workspace("signs with the key that is registered now"),
    parts: verified,
  },
  {
    section: "6.2",
    what: "header X-Hub-Signature-256",
    where: deliveries,
    shownBy: posted,
    parts: delivered,
  },
  { section: "6.2", what: "header x-flow-ns", where: deliveries, shownBy: posted, parts: delivered },
  { section: "6.2", what: "header x-action", where: deliveries, shownBy: addressed, parts: delivered },
  {
    section: "6.2",
    what: "emitted when the flow sends a message",
    where: ["provider/emulator/flows/run-flow.ts"],
    shownBy: addressed,
  },
  {
    section: "6.2",
    what: "emitted when an agent sends a message",
    where: ["provider/emulator/control/routes.ts"],
    shownBy: [
      "test/unit/emulator/control-routes.test.ts",
      "goes through bot_url, and is answered by an agent with a signed delivery",
    ],
  },
  {
    section: "3",
    what: "deliveries to a webhook that is not verified: not shown",
    switches: ["deliveryWhile"],
    where: ["provider/emulator/state.ts"],
    shownBy: reading("verified delivers nothing to a webhook whose handshake failed, until it is verified"),
  },
  {
    section: "6.2",
    what: "retry of failed deliveries: not shown",
    switches: ["deliveryAttempts", "deliveryRetryMs"],
    where: deliveries,
    shownBy: reading("tries a delivery that failed so often, with a pause that doubles"),
  },
  {
    section: "6.2",
    what: "expected answer to a delivery: not shown",
    switches: ["deliveryAnswer"],
    where: ["provider/emulator/deliveries/perform.ts"],
    shownBy: reading("%s takes HTTP %i as %s"),
    parts: delivered,
  },
  {
    section: "6.2",
    what: "how the body of a delivery is written: not shown",
    switches: ["deliveryEncoding"],
    where: ["provider/emulator/deliveries/record.ts"],
    shownBy: reading("%s writes slashes and accents its way, and signs what it wrote"),
    parts: { responder: responder("checks the signature before it parses") },
  },
  {
    section: "8",
    what: "time limit of a delivery: not shown",
    switches: ["deliveryTimeoutMs"],
    where: deliveries,
    shownBy: reading("ends a try that is not answered"),
  },
];
