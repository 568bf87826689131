import { fieldRows, testsIn, type CoverageRow } from "./row.ts";

const registration = testsIn("test/unit/emulator/registration.test.ts");
const handshake = testsIn("test/unit/emulator/handshake.test.ts");
const switchTest = testsIn("test/unit/emulator/switches.test.ts");
const reading = testsIn("test/unit/emulator/readings.test.ts");
const corpus = testsIn("test/unit/emulator/corpus.test.ts");

const operations = ["provider/emulator/registration-interface.ts", "provider/emulator/registration.ts"];
const shapes = ["schema/registration.ts"];
const handshakes = ["schema/handshake.ts", "provider/emulator/handshake.ts"];

const whole = registration("answers the whole configuration, which get-webhook shows from then on");
const removed = registration("leaves four empty strings, also for get-webhook and when repeated");
const refused = corpus("what the schema rejects is refused");

/** Sections 2.1, 2.2, 3, 4.1, 5, 6.1 and 7: the registration interface and its handshake. */
export const registrationRows: readonly CoverageRow[] = [
  ...fieldRows("2.1", ["webhook-configuration"], shapes, {
    webhook_url: whole,
    webhook_verification_key: whole,
    webhook_status: whole,
    bot_url: registration("one API key serves many workspaces, each with its own registration and bot"),
  }),
  ...fieldRows("2.2", ["registration-envelope"], shapes, {
    status: whole,
    data: whole,
    "data.webhook_url": whole,
    "data.webhook_verification_key": switchTest("shows %s as %s in every answer, and keeps it inside"),
    "data.webhook_status": whole,
    "data.bot_url": registration("keeps the bot: the same bot_url after the next set-webhook"),
  }),
  {
    section: "3",
    what: "state `verified`, by set-webhook",
    where: operations,
    shownBy: whole,
  },
  { section: "3", what: "state empty, by delete-webhook", where: operations, shownBy: removed },
  {
    section: "3",
    what: "other states: not shown",
    switches: ["statusAfterSet", "verifyAfterMs"],
    where: ["provider/emulator/workspace-state.ts"],
    shownBy: switchTest("becomes verified after verifyAfterMs"),
  },
  {
    section: "3",
    what: "result of a failed verification: not shown",
    switches: ["failedHandshake"],
    where: operations,
    shownBy: handshake("stores the new one as failed, if asked for"),
  },
  { section: "4.1", what: "get-webhook", where: operations, shownBy: whole },
  {
    section: "4.1",
    what: "get-webhook of a workspace that never had one: not shown",
    switches: ["beforeFirstSet"],
    where: operations,
    shownBy: switchTest("as %s"),
  },
  { section: "4.1", what: "set-webhook", where: operations, shownBy: whole },
  { section: "4.1", what: "delete-webhook", where: operations, shownBy: removed },
  {
    section: "4.1",
    what: "how the answers show URL and key: not shown",
    switches: ["normalizeUrl", "maskKey"],
    where: operations,
    shownBy: switchTest("shows %s as %s, and keeps it inside"),
  },
  {
    section: "4.1",
    what: "`{base_url}` with a query of its own, `action` beside it",
    where: ["provider/emulator/workspace-directory.ts"],
    shownBy: registration("a query of the base URL belongs to the address"),
  },
  {
    section: "4.1",
    what: "set-webhook makes the handshake before the webhook is verified",
    where: operations,
    shownBy: registration("makes a handshake each time, also when nothing changes"),
  },
  {
    section: "4.1",
    what: "no workspace id and no e-mail in the body",
    where: ["schema/registration.ts", "provider/emulator/request-body.ts"],
    shownBy: registration("%s with %j gets 422 that names the field and no key"),
  },
  ...fieldRows("4.1", ["registration-requests"], shapes, {
    ChaveApi: registration("%j is unauthorized, and no key is echoed"),
    webhook_url: refused,
    webhook_verification_key: refused,
  }),
  {
    section: "5",
    what: "one API key for many workspaces",
    where: ["provider/emulator/workspace-directory.ts"],
    shownBy: registration("one API key serves many workspaces, each with its own registration and bot"),
  },
  {
    section: "5",
    what: '"described as using bearer authentication"',
    switches: ["registrationKey"],
    where: ["provider/emulator/presented-key.ts"],
    shownBy: reading("body-or-bearer takes either, and the one in the body counts"),
  },
  ...fieldRows("6.1", ["handshake"], handshakes, {
    hub_mode: handshake("is a form by default"),
    hub_verify_token: handshake("is a form by default"),
    hub_challenge: registration("makes a handshake each time, also when nothing changes"),
  }),
  {
    section: "6.1",
    what: "encoding, length and time limit of the handshake: not shown",
    switches: ["handshake"],
    where: ["provider/emulator/handshake.ts"],
    shownBy: handshake("can be in the query, behind one that the URL has: %j"),
  },
  {
    section: "6.1",
    what: "the answer's body is the challenge",
    where: ["provider/emulator/handshake.ts"],
    shownBy: handshake("through %s is answered with 422"),
  },
  {
    section: "7",
    what: "error shapes and statuses: not shown",
    switches: ["errorShape"],
    where: ["provider/emulator/error-shape.ts"],
    shownBy: reading("%s is the shape of every error of both interfaces"),
  },
  {
    section: "8",
    what: "rate limits: not shown",
    switches: ["requestsPerSecond"],
    where: ["provider/emulator/rate-limit.ts"],
    shownBy: reading(
      "refuses what is beyond with 429 and Retry-After, on both ports together, until a second has passed",
    ),
  },
  {
    section: "8",
    what: "sizes: not shown; bodies over 1 MiB are refused",
    where: ["provider/emulator/http-server.ts"],
    shownBy: registration("a body beyond 1 MiB gets 413"),
  },
];
