import { expect, it } from "vitest";
import { byId } from "../../../provider/emulator/page/apply-events.ts";
import {
  conversationOf,
  curlRequestOf,
  durationMsOf,
  holds,
  hasFault,
  messageOf,
  outcomeOf,
  statusOf,
  wireEntries,
  wireKindOf,
  type WireEntry,
} from "../../../provider/emulator/page/wire.ts";
import { view } from "./views.ts";

const tries = [
  { at: "", durationMs: 20, received: null, reason: "no answer", fault: '"close-before"' },
  { at: "", durationMs: 5, received: { status: 200, headers: {}, body: "" }, reason: "", fault: "" },
];

it("lists all exchanges, newest first", () => {
  const entries = wireEntries({
    requests: byId([
      view.request({ order: 4 }),
      view.request({ id: "r0", order: 1, interface: "registration" }),
    ]),
    handshakes: byId([view.handshake({ order: 2 })]),
    deliveries: byId([view.delivery({ order: 3 })]),
  });
  expect(entries.map(wireKindOf)).toEqual(["message", "delivery", "handshake", "registration"]);
  expect(entries.map(conversationOf)).toEqual(["c1", "c1", null, "c1"]);
});

it.each<[string, WireEntry, string]>([
  ["an answered request", { kind: "request", record: view.request() }, "good"],
  [
    "a refused one",
    { kind: "request", record: view.request({ received: { status: 422, headers: {}, body: "" } }) },
    "bad",
  ],
  [
    "one in progress",
    { kind: "request", record: view.request({ received: null, durationMs: 0 }) },
    "pending",
  ],
  [
    "one closed without answer",
    { kind: "request", record: view.request({ received: null, durationMs: 3 }) },
    "bad",
  ],
  ["a passed handshake", { kind: "handshake", record: view.handshake() }, "good"],
  ["a failed one", { kind: "handshake", record: view.handshake({ verdict: "failed" }) }, "bad"],
  ["a delivery", { kind: "delivery", record: view.delivery() }, "good"],
  ["one in progress", { kind: "delivery", record: view.delivery({ verdict: "pending" }) }, "pending"],
  ["one that failed", { kind: "delivery", record: view.delivery({ verdict: "failed" }) }, "bad"],
  [
    "one taken with a wrong signature",
    { kind: "delivery", record: view.delivery({ signature: "wrong" }) },
    "bad",
  ],
])("knows how %s ended", (_, entry, outcome) => {
  expect(outcomeOf(entry)).toBe(outcome);
});

it("gives the last answer and the whole time of a delivery", () => {
  const entry: WireEntry = { kind: "delivery", record: view.delivery({ attempts: tries }) };
  expect(statusOf(entry)).toBe(200);
  expect(durationMsOf(entry)).toBe(25);
  expect(statusOf({ kind: "delivery", record: view.delivery({ attempts: tries.slice(0, 1) }) })).toBeNull();
});

it("knows whether a fault matched it, also one attempt of a delivery", () => {
  const matched = (attempts: typeof tries): boolean =>
    hasFault({ kind: "delivery", record: view.delivery({ attempts }) });
  expect([matched(tries), matched(tries.slice(1)), matched([])]).toEqual([true, false, false]);
  expect(hasFault({ kind: "request", record: view.request({ fault: '"html"' }) })).toBe(true);
  expect(hasFault({ kind: "request", record: view.request() })).toBe(false);
  expect(hasFault({ kind: "handshake", record: view.handshake() })).toBe(false);
});

it("gives curl the method of a request, and POST for what the emulator sent", () => {
  const request = view.request({ method: "PUT" });
  expect(curlRequestOf({ kind: "request", record: request })).toMatchObject({
    method: "PUT",
    url: request.url,
  });
  expect(curlRequestOf({ kind: "delivery", record: view.delivery() }).method).toBe("POST");
});

it.each([
  ["HI", true],
  ["é/", true],
  ["\\u00e9", true],
  ["no such", false],
  ["application/json", false],
])("looks for %j in what was sent and in every answer", (text, found) => {
  const sent = { headers: { "content-type": "application/json" }, body: '{"text":"\\u00e9/"}' };
  const received = { status: 200, headers: {}, body: "not JSON: hi" };
  const attempts = [
    { at: "", durationMs: 1, received: null, reason: "", fault: "" },
    { ...tries[1]!, received },
  ];
  expect(holds({ kind: "delivery", record: view.delivery({ sent, attempts }) }, text)).toBe(found);
});

it("reads what a message or delivery holds, if it is JSON", () => {
  const broken = view.delivery({ sent: { headers: {}, body: '{"type":' } });
  expect(messageOf({ kind: "delivery", record: view.delivery() })).toEqual({ kind: "text", text: "hi" });
  expect(messageOf({ kind: "delivery", record: broken })).toBeNull();
  expect(messageOf({ kind: "handshake", record: view.handshake() })).toBeNull();
});
