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
import { entryOf, view } from "./views.ts";

const tries = [
  { at: "", durationMs: 20, response: null, reason: "no answer", fault: '"close-before"' },
  { at: "", durationMs: 5, response: { status: 200, headers: {}, body: "" }, reason: "", fault: "" },
];

it("lists all exchanges, newest first", () => {
  const entries = wireEntries({
    requests: byId([view.request(), view.request({ id: "r0", order: 1, interface: "registration" })]),
    handshakes: byId([view.handshake()]),
    deliveries: byId([view.delivery()]),
  });
  expect(entries.map(wireKindOf)).toEqual(["message", "delivery", "handshake", "registration"]);
  expect(entries.map(conversationOf)).toEqual(["c1", "c1", null, "c1"]);
});

const refused = { status: 422, headers: {}, body: "" };

it.each<[string, WireEntry, string]>([
  ["an answered request", entryOf.request(), "good"],
  ["a refused request", entryOf.request({ response: refused }), "bad"],
  ["a request in progress", entryOf.request({ response: null, durationMs: 0 }), "pending"],
  ["a request closed without answer", entryOf.request({ response: null, durationMs: 3 }), "bad"],
  ["a passed handshake", entryOf.handshake(), "good"],
  ["a failed handshake", entryOf.handshake({ verdict: "failed" }), "bad"],
  ["a delivery", entryOf.delivery(), "good"],
  ["a delivery in progress", entryOf.delivery({ verdict: "pending" }), "pending"],
  ["a failed delivery", entryOf.delivery({ verdict: "failed" }), "bad"],
  ["a delivery taken with a wrong signature", entryOf.delivery({ signature: "wrong" }), "bad"],
])("knows how %s ended", (_, entry, outcome) => {
  expect(outcomeOf(entry)).toBe(outcome);
});

it("gives the last answer and the whole time of a delivery", () => {
  const entry = entryOf.delivery({ attempts: tries });
  expect([statusOf(entry), durationMsOf(entry)]).toEqual([200, 25]);
  expect(statusOf(entryOf.delivery({ attempts: tries.slice(0, 1) }))).toBeNull();
});

it.each<[string, WireEntry, boolean]>([
  ["an attempt of a delivery", entryOf.delivery({ attempts: tries }), true],
  ["no attempt of a delivery", entryOf.delivery({ attempts: tries.slice(1) }), false],
  ["a request", entryOf.request({ fault: '"html"' }), true],
  ["no request", entryOf.request(), false],
  ["no handshake", entryOf.handshake(), false],
])("knows whether a fault matched: %s", (_, entry, matched) => {
  expect(hasFault(entry)).toBe(matched);
});

it("gives curl the method of a request, and POST for what the emulator sent", () => {
  const request = entryOf.request({ method: "PUT" });
  expect(curlRequestOf(request)).toMatchObject({ method: "PUT", url: request.record.url });
  expect(curlRequestOf(entryOf.delivery()).method).toBe("POST");
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
  const attempts = tries.map((one) => ({ ...one, response: one.response && received }));
  expect(holds(entryOf.delivery({ request: sent, attempts }), text)).toBe(found);
});

it("reads what a message or delivery holds, if it is JSON", () => {
  expect(messageOf(entryOf.delivery())).toEqual({ kind: "text", text: "hi" });
  expect(messageOf(entryOf.delivery({ request: { headers: {}, body: '{"type":' } }))).toBeNull();
  expect(messageOf(entryOf.handshake())).toBeNull();
});
