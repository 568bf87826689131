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

describe("a line of apichat emulator", () => {
  test("tells of a request its operation, status and time", () => {
    expect(format({ type: "request", request })).toBe("acme  request  200  set-webhook  12 ms\n");
  });

  test("tells of a request that is none of the service's where it went, and of a fault that struck", () => {
    const other = { ...request, workspace: null, operation: null, fault: '{"status":503}' };
    const received = { status: 503, headers: {}, body: "" };
    expect(format({ type: "request", request: { ...other, received } })).toBe(
      '-  request  503  POST http://127.0.0.1:4000/acme?token=***  12 ms  fault {"status":503}\n',
    );
  });

  test("waits for a request to be answered, and tells if its connection was closed instead", () => {
    expect(
      format({ type: "request", request: { ...request, received: null, durationMs: 0 } }),
    ).toBeUndefined();
    expect(format({ type: "request", request: { ...request, received: null } })).toContain("no answer");
  });

  test("tells of a handshake how it was sent and why it failed", () => {
    expect(format({ type: "handshake", handshake })).toBe(
      "acme  handshake  failed  as form to https://chat.example/hook?token=***  3 ms  HTTP 404\n",
    );
  });

  test("tells of a delivery its verdict, attempts and signature", () => {
    expect(format({ type: "delivery", delivery })).toBe(
      "acme  delivery  delivered 204  to https://chat.example/hook?token=***  5 ms\n",
    );
    const [attempt] = delivery.attempts;
    const failedTwice = { at: AT, durationMs: 9, received: null, reason: "no answer in 5 s", fault: "" };
    const spoiled: DeliveryView = {
      ...delivery,
      verdict: "failed",
      signature: "wrong",
      reason: "no answer in 5 s",
      attempts: attempt === undefined ? [] : [attempt, failedTwice],
      resendOf: "d0",
    };
    expect(format({ type: "delivery", delivery: spoiled })).toBe(
      "acme  delivery  failed  to https://chat.example/hook?token=***  9 ms  attempt 2  wrong signature  sent again  no answer in 5 s\n",
    );
  });

  test("tells who sent a message, whose conversation it is in and what it says", () => {
    expect(format({ type: "message", message: reply })).toBe(
      "acme  message  from flow  contact 7, conversation 1: Olá\n",
    );
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
    expect(format({ type: "message", message: inbound })).toBe(
      "acme  message  from contact  contact 7, conversation 1: image https://files.example/1.png\n",
    );
  });

  test("tells when a reply went nowhere, and when a flow failed", () => {
    expect(format({ type: "message", message: { ...reply, delivery: null } })).toContain(
      "no verified webhook",
    );
    const failure = { workspace: "acme", conversation: "c1", message: "m1", reason: "the flow threw" };
    expect(format({ type: "flow-failed", failure })).toBe(
      "acme  flow  failed  the message stays without answer: the flow threw\n",
    );
  });

  test("comes once for a record that is told of again with nothing new", () => {
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
