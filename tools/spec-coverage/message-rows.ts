import { fieldRows, testsIn, type CoverageRow } from "./row.ts";

const message = testsIn("test/unit/emulator/messages.test.ts");
const conversation = testsIn("test/unit/emulator/conversations.test.ts");
const reading = testsIn("test/unit/emulator/readings.test.ts");
const corpus = testsIn("test/unit/emulator/corpus.test.ts");

const client = testsIn("test/unit/client/message-request.test.ts");
const sent = { client: client("that is %s has exactly its body of section 4.2") };
const refused = { client: client("%s is not sent: invalid_config, naming the field and not its value") };

const shapes = ["schema/inbound.ts", "provider/emulator/service/messages.ts"];
const bot = ["provider/emulator/service/messages.ts"];

const named = message("with %s gets 422 that names the field and no value");
const kept = message("%s is taken and kept");
const wrong = corpus(
  "what the schema rejects is refused, naming the field or the one that tells the operation",
);

/** The six operations of section 4.2, as the tests name them. */
export const messageOperations = [
  "send text message",
  "send button payload",
  "send image",
  "send audio",
  "send video",
  "send file",
] as const;

/** Sections 2.3, 4.2 and 5: what the external system posts to `bot_url`. */
export const messageRows: readonly CoverageRow[] = [
  ...fieldRows(
    { section: "2.3", schemas: ["inbound"], where: shapes, parts: sent },
    {
      content: named,
      message_type: named,
      sender: named,
      "sender.id": conversation(
        "are told apart by contact and by conversation id, in the order in which they began",
      ),
      "sender.name": conversation("keep the last name that the contact had"),
      "sender.email": message("may lack sender.%s"),
      "sender.phone_number": message("may lack sender.%s"),
      "sender.type": wrong,
      conversation_id: message("whose conversation id would lose digits gets 422"),
      event: named,
      attachments: named,
      "attachments[].file_type": named,
      "attachments[].data_url": named,
      submitted_values: named,
      "submitted_values[].title": wrong,
      "submitted_values[].payload": named,
    },
  ),
  {
    section: "2.3",
    what: "requiredness of `sender.email` and `sender.phone_number`: not shown",
    switches: ["senderFields"],
    where: shapes,
    shownBy: reading("required refuses a sender without e-mail or phone number, and names both"),
    parts: {
      client: client("in its shape on the wire is sent as it is, also without e-mail and phone number"),
    },
  },
  {
    section: "2.3",
    what: "other required fields, empty text: not shown; refused",
    where: shapes,
    shownBy: named,
    parts: refused,
  },
  ...messageOperations.map((operation) => ({
    section: "4.2",
    what: operation,
    where: bot,
    shownBy: kept,
    parts: sent,
  })),
  {
    section: "4.2",
    what: "messages after delete-webhook: not shown; taken",
    where: bot,
    shownBy: message("is taken for the workspace whose bot it is, whatever is registered"),
  },
  {
    section: "4.2",
    what: "`{bot_base_url}/api/apichat/<unique_code_to_bot>`",
    where: bot,
    shownBy: message("is taken for the workspace whose bot it is, whatever is registered"),
    parts: {
      client: client("is posted to the bot's address as JSON, with the flow API key as a bearer token"),
    },
  },
  {
    section: "4.2",
    what: "POST only, and no other address",
    where: bot,
    shownBy: message("as %s gets 405 with allow"),
  },
  {
    section: "4.2",
    what: "status and body of the answer: not shown",
    switches: ["messageAnswer"],
    where: bot,
    shownBy: reading("created is 201 and the id of the message"),
    parts: { client: client("holds %s as it came") },
  },
  {
    section: "5",
    what: "API key of the flow; how it is presented: not shown",
    switches: ["flowKey"],
    where: ["provider/emulator/service/checks.ts", ...bot],
    shownBy: reading("%s takes the key %s only"),
    parts: {
      client: testsIn("test/unit/client/key-presentation.test.ts")(
        "%s is taken by a service that reads the key so, and by no other",
      ),
    },
  },
  {
    section: "5",
    what: 'permission "Gerenciar Fluxo"',
    where: bot,
    shownBy: message('with a key that lacks "Gerenciar Fluxo" gets 403 until it may'),
    parts: { client: testsIn("test/unit/client/message-failures.test.ts")("(%s) fails at once") },
  },
];
