import { fieldRows, testsIn, type CoverageRow } from "./row.ts";

const registration = testsIn("test/unit/emulator/registration.test.ts");
const handshake = testsIn("test/unit/emulator/handshake.test.ts");
const switchTest = testsIn("test/unit/emulator/switches.test.ts");
const reading = testsIn("test/unit/emulator/readings.test.ts");
const corpus = testsIn("test/unit/emulator/corpus.test.ts");

const operations = ["provider/emulator/service/registration.ts"];
const shapes = ["schema/registration.ts"];
const handshakes = ["schema/handshake.ts", "provider/emulator/service/handshake.ts"];

const client = testsIn("test/unit/client/request.test.ts");
const failure = testsIn("test/unit/client/failures.test.ts");
const create = testsIn("test/unit/webhook/create.test.ts");
const remove = testsIn("test/unit/webhook/read-and-delete.test.ts");
const preflight = testsIn("test/unit/webhook/preflight.test.ts");
const responder = testsIn("test/unit/responder/handshake.test.ts");

const sent = {
  client: client("holds exactly the fields of its operation, as JSON, and asks for JSON"),
  resource: create("create registers the webhook, and its outputs say what stands there"),
};
const answered = { ...sent, client: client("is given as a registration") };
const deleted = { ...sent, resource: remove("removes what is ours") };
const shaken = {
  resource: preflight("the handshake is posted as form and as JSON, each with a challenge of its own"),
  responder: responder("in %s is answered with its challenge"),
};

const whole = registration("answers the whole configuration, which get-webhook shows from then on");
const removed = registration("leaves four empty strings, also for get-webhook and when repeated");
const refused = corpus("what the schema rejects is refused");

/** Sections 2.1, 2.2, 3, 4.1, 5, 6.1 and 7: the registration interface and its handshake. */
export const registrationRows: readonly CoverageRow[] = [
  ...fieldRows(
    { section: "2.1", schemas: ["webhook-configuration"], where: shapes, parts: answered },
    {
      webhook_url: whole,
      webhook_verification_key: whole,
      webhook_status: whole,
      bot_url: registration("one API key serves many workspaces, each with its own registration and bot"),
    },
  ),
  ...fieldRows(
    { section: "2.2", schemas: ["registration-envelope"], where: shapes, parts: answered },
    {
      status: whole,
      data: whole,
      "data.webhook_url": whole,
      "data.webhook_verification_key": switchTest("shows %s as %s in every answer, and keeps it inside"),
      "data.webhook_status": whole,
      "data.bot_url": whole,
    },
  ),
  {
    section: "2.1",
    what: "`bot_url` after the next set-webhook: not shown; kept",
    where: ["provider/emulator/workspaces.ts"],
    shownBy: registration("keeps the bot: the same bot_url after the next set-webhook"),
    parts: {
      resource: testsIn("test/unit/webhook/update.test.ts")(
        "the bot's host: it is recorded, and nothing is set",
      ),
    },
  },
  {
    section: "3",
    what: "state `verified`, by set-webhook",
    where: operations,
    shownBy: whole,
    parts: sent,
  },
  {
    section: "3",
    what: "state empty, by delete-webhook",
    where: operations,
    shownBy: removed,
    parts: deleted,
  },
  {
    section: "3",
    what: "other states: not shown",
    switches: ["statusAfterSet", "verifyAfterMs"],
    where: ["provider/emulator/workspaces.ts"],
    shownBy: switchTest("becomes verified after verifyAfterMs"),
    parts: {
      client: client("may have an unknown status and missing fields"),
      resource: create("is waited for"),
    },
  },
  {
    section: "3",
    what: "result of a failed verification: not shown",
    switches: ["failedHandshake"],
    where: operations,
    shownBy: handshake("stores the new one as failed, if asked for"),
    parts: { resource: create("puts back what stood there before, once") },
  },
  { section: "4.1", what: "get-webhook", where: operations, shownBy: whole, parts: answered },
  {
    section: "4.1",
    what: "get-webhook of a workspace that never had one: not shown",
    switches: ["beforeFirstSet"],
    where: operations,
    shownBy: switchTest("as %s"),
    parts: { client: client("whose data is %s means nothing registered"), resource: create("may answer %s") },
  },
  { section: "4.1", what: "set-webhook", where: operations, shownBy: whole, parts: sent },
  { section: "4.1", what: "delete-webhook", where: operations, shownBy: removed, parts: deleted },
  {
    section: "4.1",
    what: "how the answers show URL and key: not shown",
    switches: ["normalizeUrl", "maskKey"],
    where: operations,
    shownBy: switchTest("shows %s as %s, and keeps it inside"),
    parts: { resource: create("a masked key is no drift, and never taken for the key") },
  },
  {
    section: "4.1",
    what: "`{base_url}` with a query of its own, `action` beside it",
    where: ["provider/emulator/service/registration.ts"],
    shownBy: registration("a query of the base URL belongs to the address"),
    parts: { client: client("to a base URL ending in %s goes to %s") },
  },
  {
    section: "4.1",
    what: "set-webhook makes the handshake before the webhook is verified",
    where: operations,
    shownBy: registration("makes a handshake each time, also when nothing changes"),
    parts: { resource: shaken.resource },
  },
  {
    section: "4.1",
    what: "no workspace id and no e-mail in the body",
    where: ["schema/registration.ts", "provider/emulator/service/checks.ts"],
    shownBy: registration("%s with %j gets 422 that names the field and no key"),
    parts: { client: client("does not send what else its caller's object holds") },
  },
  ...fieldRows(
    { section: "4.1", schemas: ["registration-requests"], where: shapes, parts: sent },
    {
      ChaveApi: registration("%j is unauthorized, and no key is echoed"),
      webhook_url: refused,
      webhook_verification_key: refused,
    },
  ),
  {
    section: "5",
    what: "one API key for many workspaces",
    where: ["provider/emulator/service/registration.ts"],
    shownBy: registration("one API key serves many workspaces, each with its own registration and bot"),
  },
  {
    section: "5",
    what: '"described as using bearer authentication"',
    switches: ["registrationKey"],
    where: ["provider/emulator/service/checks.ts"],
    shownBy: reading("body-or-bearer takes either, and the one in the body counts"),
    parts: { client: testsIn("test/unit/client/key-presentation.test.ts")("%s is read as %s: %s") },
  },
  ...fieldRows(
    { section: "6.1", schemas: ["handshake"], where: handshakes, parts: shaken },
    {
      hub_mode: handshake("is a form by default"),
      hub_verify_token: handshake("is a form by default"),
      hub_challenge: registration("makes a handshake each time, also when nothing changes"),
    },
  ),
  {
    section: "6.1",
    what: "encoding, length and time limit of the handshake: not shown",
    switches: ["handshake"],
    where: ["provider/emulator/service/handshake.ts"],
    shownBy: handshake("can be in the query, behind one that the URL has: %j"),
    parts: { resource: preflight("%s, not %s"), responder: shaken.responder },
  },
  {
    section: "6.1",
    what: "the answer's body is the challenge",
    where: ["provider/emulator/service/handshake.ts"],
    shownBy: handshake("through %s is answered with 422"),
    parts: {
      resource: preflight("(%s) fails with its transcript"),
      responder: responder("%s is given back as it is, as plain text"),
    },
  },
  {
    section: "7",
    what: "error shapes and statuses: not shown",
    switches: ["errorShape"],
    where: ["provider/emulator/service/exchange.ts"],
    shownBy: reading("%s is the shape of every error of both interfaces"),
    parts: {
      client: failure("(%s) fails at once"),
      resource: remove("answered %s is an error, and never gone"),
    },
  },
  {
    section: "8",
    what: "rate limits: not shown",
    switches: ["requestsPerSecond"],
    where: ["provider/emulator/service/checks.ts"],
    shownBy: reading(
      "refuses what is beyond with 429 and Retry-After, on both ports together, until a second has passed",
    ),
    parts: {
      client: testsIn("test/unit/client/retries.test.ts")(
        "of a 429 holds back the other calls to that origin, and no others",
      ),
    },
  },
  {
    section: "8",
    what: "sizes: not shown; bodies over 1 MiB are refused",
    where: ["provider/emulator/service/http.ts"],
    shownBy: registration("a body beyond 1 MiB gets 413"),
    parts: {
      client: failure("may not be more, and is not read to its end"),
      responder: testsIn("test/unit/responder/responder.test.ts")("refuses one byte more"),
    },
  },
];
