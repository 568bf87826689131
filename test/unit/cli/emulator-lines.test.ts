import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createEventFormatter, formatEmulatorEvent } from "../../../provider/cli/emulator/event-lines.js";
import type {
  DeliveryView,
  EmulatorEvent,
  HandshakeView,
  MessageView,
  RequestView,
} from "../../../provider/emulator/control/shapes.js";

const AT = "2026-05-06T07:08:09.000Z";
const COMMON = { id: "1", order: 1, at: AT, workspace: "acme" };
const HOOK = "https://chat.example/hook?token=a-secret-in-a-query";
const SENT = { headers: { "x-hub-signature-256": "sha256=not-to-be-shown" }, body: "not to be shown" };
const answer = (status: number) => ({ status, headers: {}, body: "{}" });

const request: RequestView = {
  ...COMMON,
  interface: "registration",
  operation: "set-webhook",
  conversation: null,
  method: "POST",
  url: HOOK,
  request: SENT,
  response: answer(200),
  fault: "",
  durationMs: 12.4,
};
const faulty = { workspace: null, operation: null, fault: '{"status":503}', response: answer(503) };

const handshake: HandshakeView = {
  ...COMMON,
  url: HOOK,
  encoding: "form",
  challenge: "1",
  verdict: "failed",
  reason: "HTTP 404",
  request: SENT,
  response: null,
  durationMs: 3,
};

const body = {
  sender_id: "7",
  conv_id: 1,
  type: "text",
  message_type: "outgoing",
  private: false,
  text: "Olá",
} as const;

const attempt = { at: AT, durationMs: 5, response: answer(204), reason: "", fault: "" };
const delivery: DeliveryView = {
  ...COMMON,
  conversation: "c1",
  contactId: "7",
  conversationId: "1",
  message: body,
  dueAt: AT,
  url: HOOK,
  request: SENT,
  signature: "right",
  verdict: "delivered",
  reason: "",
  attempts: [attempt],
  resendOf: null,
};
const failedTwice: DeliveryView = {
  ...delivery,
  verdict: "failed",
  signature: "wrong",
  reason: "no answer in 5 s",
  attempts: [attempt, { ...attempt, durationMs: 9, response: null, reason: "no answer in 5 s" }],
  resendOf: "d0",
};

const reply: MessageView = {
  ...COMMON,
  conversation: "c1",
  from: "flow",
  body,
  delivery: "d1",
  unanswered: false,
};
const inbound: MessageView = {
  ...reply,
  from: "contact",
  delivery: null,
  body: {
    content: "",
    message_type: "incoming",
    event: "message_created",
    conversation_id: 1,
    sender: { id: "7", name: "Ana", email: "", phone_number: "", type: "contact" },
    attachments: [{ file_type: "image", data_url: "https://files.example/1.png" }],
  },
};

const failure = { workspace: "acme", conversation: "c1", message: "m1", reason: "the flow threw" };

/** Without colours: a stream that is no terminal. The time is local, so it is cut off. */
const format = (event: EmulatorEvent): string | undefined =>
  formatEmulatorEvent(event, new PassThrough())
    ?.replace(/^\d\d:\d\d:\d\d {2}/, "")
    .replaceAll(/ {2,}/g, "  ");

describe("a line of apichat emulator", () => {
  const to = "to https://chat.example/hook?token=***";
  const talk = "contact 7, conversation 1:";
  test.each<[string, EmulatorEvent]>([
    ["acme  request  200  set-webhook  12 ms", { type: "request", request }],
    [
      '-  request  503  POST https://chat.example/hook?token=***  12 ms  fault {"status":503}',
      { type: "request", request: { ...request, ...faulty } },
    ],
    [
      "acme  request  no answer  set-webhook  12 ms",
      { type: "request", request: { ...request, response: null } },
    ],
    [`acme  handshake  failed  as form ${to}  3 ms  HTTP 404`, { type: "handshake", handshake }],
    [`acme  delivery  delivered 204  ${to}  5 ms`, { type: "delivery", delivery }],
    [
      `acme  delivery  failed  ${to}  9 ms  attempt 2  wrong signature  sent again  no answer in 5 s`,
      { type: "delivery", delivery: failedTwice },
    ],
    [`acme  message  from flow  ${talk} Olá`, { type: "message", message: reply }],
    [
      `acme  message  from flow  ${talk} Olá  not delivered: no verified webhook is registered`,
      { type: "message", message: { ...reply, delivery: null } },
    ],
    [
      `acme  message  from contact  ${talk} image https://files.example/1.png`,
      { type: "message", message: inbound },
    ],
    ["acme  flow  failed  the message gets no reply: the flow threw", { type: "flow-failed", failure }],
  ])("is: %s", (line, event) => {
    expect(format(event)?.trimEnd()).toBe(line);
  });

  test("does not come for a request that waits for its answer", () => {
    const waiting = { ...request, response: null, durationMs: 0 };
    expect(format({ type: "request", request: waiting })).toBeUndefined();
  });

  test("comes once for a record that comes again with nothing new", () => {
    const formatNext = createEventFormatter(new PassThrough());
    expect(formatNext({ type: "message", message: reply })).toContain("Olá");
    expect(formatNext({ type: "message", message: { ...reply, order: 2 } })).toBeUndefined();
    expect(formatNext({ type: "delivery", delivery })).toContain("delivered");
    expect(formatNext({ type: "message", message: { ...reply, id: "2" } })).toContain("Olá");
    const pending: DeliveryView = { ...delivery, verdict: "pending" };
    expect(formatNext({ type: "delivery", delivery: pending })).toContain("to try again");
  });

  test("shows no header, no body and no query value, and cannot drive the terminal", () => {
    const hostile = { ...body, text: "\u001b]0;title\u0007" };
    const events: EmulatorEvent[] = [
      { type: "request", request: { ...request, operation: "\u001b[2J" } },
      { type: "handshake", handshake: { ...handshake, reason: "\u001b[2J" } },
      { type: "delivery", delivery },
      { type: "message", message: { ...reply, body: hostile } },
    ];
    const text = events.map(format).join("");
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(text).not.toMatch(/not.to.be.shown|a-secret/);
    expect(text).toContain("\\u001b]0;title\\u0007");
  });
});
