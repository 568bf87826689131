import { expect, it } from "vitest";
import { harOf } from "../../../provider/emulator/page/har.ts";
import { entryOf } from "./views.ts";

const at = "2026-11-21T10:00:00.000Z";
const answer = { status: 302, headers: { location: "/é", "content-type": "text/plain" }, body: "é" };

it("writes each attempt of a delivery with all that HAR 1.2 asks for", () => {
  const sent = { headers: { "Content-Type": "application/json" }, body: "{}" };
  const attempts = [
    { at, durationMs: 20, response: null, reason: "no answer", fault: "" },
    { at, durationMs: 5, response: answer, reason: "", fault: "" },
  ];
  const exchange = entryOf.delivery({ url: "http://localhost/hook?a=1&a=%26", request: sent, attempts });
  const common = { httpVersion: "HTTP/1.1", cookies: [], headersSize: -1 };
  const request = {
    ...common,
    method: "POST",
    url: "http://localhost/hook?a=1&a=%26",
    headers: [{ name: "Content-Type", value: "application/json" }],
    queryString: [
      { name: "a", value: "1" },
      { name: "a", value: "&" },
    ],
    postData: { mimeType: "application/json", text: "{}" },
    bodySize: 2,
  };
  const entryWith = (time: number, response: object) => {
    const timings = { send: 0, wait: time, receive: 0 };
    return { startedDateTime: at, request, cache: {}, time, timings, response };
  };
  const noContent = { size: 0, mimeType: "", text: "" };
  const noAnswer = { ...common, status: 0, statusText: "", headers: [], content: noContent };
  const answered = {
    ...common,
    status: 302,
    statusText: "",
    headers: [
      { name: "location", value: "/é" },
      { name: "content-type", value: "text/plain" },
    ],
    content: { size: 2, mimeType: "text/plain", text: "é" },
  };
  expect(harOf(exchange, "1.2.3")).toEqual({
    log: {
      version: "1.2",
      creator: { name: "apichat emulator", version: "1.2.3" },
      entries: [
        entryWith(20, { ...noAnswer, redirectURL: "", bodySize: 0 }),
        entryWith(5, { ...answered, redirectURL: "/é", bodySize: 2 }),
      ],
    },
  });
});

it.each([
  entryOf.request({ method: "GET", request: { headers: {}, body: "" } }),
  entryOf.handshake({ url: "not a URL" }),
  entryOf.delivery(),
])("writes a $kind as one entry, without a body where there is none", (exchange) => {
  const { log } = harOf(exchange, "1") as { log: { entries: { request: object }[] } };
  const { url, request } = exchange.record;
  expect(log.entries).toMatchObject([{ request: { url, headersSize: -1 } }]);
  expect("postData" in (log.entries[0]?.request ?? {})).toBe(request.body !== "");
});
