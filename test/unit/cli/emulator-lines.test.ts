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
const SECRET = "a-secret-in-a-query";
const SENT = { headers: { "x-hub-signature-256": "sha256=not-to-be-shown" }, body: "not to be shown" };

const request: RequestView = {
  ...COMMON,
  interface: "registration",
  operation: "set-webhook",
  conversation: null,
  method: "POST",
  url: `http://127.0.0.1:4000/acme?token=${SECRET}`,
  sent: SENT,
  received: { status: 200, headers: {}, body: "{}" },
  fault: "",
  durationMs: 12.4,
};

const handshake: HandshakeView = {
  ...COMMON,
  url: `https://chat.example/hook?token=${SECRET}`,
  encoding: "form",
  challenge: "1",
  verdict: "failed",
  reason: "HTTP 404",
  sent: SENT,
  received: null,
  durationMs: 3,
};

const hello = {
  sender_id: "7",
  conv_id: 1,
  type: "text",
  message_type: "outgoing",
  private: false,
  text: "Olá",
} as const;

const delivery: DeliveryView = {
  ...COMMON,
  conversation: "c1",
  contactId: "7",
  conversationId: "1",
  message: hello,
  dueAt: AT,
  url: `https://chat.example/hook?token=${SECRET}`,
  sent: SENT,
  signature: "right",
  verdict: "delivered",
  reason: "",
  attempts: [
    { at: AT, durationMs: 5, received: { status: 204, headers: {}, body: "" }, reason: "", fault: "" },
  ],
  resendOf: null,
};

const reply: MessageView = {
  ...COMMON,
  conversation: "c1",
  from: "flow",
  body: hello,
  delivery: "d1",
  unanswered: false,
};

/** Without colours: a stream that is no terminal. The time is local, so it is cut off. */
const format = (event: EmulatorEvent): string | undefined =>
  formatEmulatorEvent(event, new PassThrough())
    ?.replace(/^\d\d:\d\d:\d\d {2}/, "")
    .replaceAll(/ {2,}/g, "  ");

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

const failedTwice: DeliveryView = {
  ...delivery,
  verdict: "failed",
  signature: "wrong",
  reason: "no answer in 5 s",
  attempts: [
    ...delivery.attempts,
    { at: AT, durationMs: 9, received: null, reason: "no answer in 5 s", fault: "" },
  ],
  resendOf: "d0",
};

const faulty: RequestView = {
  ...request,
  workspace: null,
  operation: null,
  fault: '{"status":503}',
  received: { status: 503, headers: {}, body: "" },
};

const failure = { workspace: "acme", conversation: "c1", message: "m1", reason: "the flow threw" };

describe("a line of apichat emulator", () => {
  test.each<[string, EmulatorEvent, string | undefined]>([
    ["a request", { type: "request", request }, "acme  request  200  set-webhook  12 ms"],
    [
      "a request that is none of the service's, with a fault",
      { type: "request", request: faulty },
      '-  request  503  POST http://127.0.0.1:4000/acme?token=***  12 ms  fault {"status":503}',
    ],
    [
      "a request that waits for its answer",
      { type: "request", request: { ...request, received: null, durationMs: 0 } },
      undefined,
    ],
    [
      "a connection that was closed",
      { type: "request", request: { ...request, received: null } },
      "acme  request  no answer  set-webhook  12 ms",
    ],
    [
      "a handshake",
      { type: "handshake", handshake },
      "acme  handshake  failed  as form to https://chat.example/hook?token=***  3 ms  HTTP 404",
    ],
    [
      "a delivery",
      { type: "delivery", delivery },
      "acme  delivery  delivered 204  to https://chat.example/hook?token=***  5 ms",
    ],
    [
      "a delivery that failed twice",
      { type: "delivery", delivery: failedTwice },
      "acme  delivery  failed  to https://chat.example/hook?token=***  9 ms  attempt 2  wrong signature  sent again  no answer in 5 s",
    ],
    [
      "a reply",
      { type: "message", message: reply },
      "acme  message  from flow  contact 7, conversation 1: Olá",
    ],
    [
      "a reply that went nowhere",
      { type: "message", message: { ...reply, delivery: null } },
      "acme  message  from flow  contact 7, conversation 1: Olá  not delivered: no verified webhook is registered",
    ],
    [
      "media of a contact",
      { type: "message", message: inbound },
      "acme  message  from contact  contact 7, conversation 1: image https://files.example/1.png",
    ],
    [
      "a flow that failed",
      { type: "flow-failed", failure },
      "acme  flow  failed  the message stays without answer: the flow threw",
    ],
  ])("describes %s", (_, event, line) => {
    expect(format(event)?.trimEnd()).toBe(line);
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
    const hostile = { ...reply.body, text: "\u001b]0;title\u0007" };
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
