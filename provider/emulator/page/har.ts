import type { AttemptView, HttpView } from "../control/shapes.js";
import { curlRequestOf, type WireEntry } from "./wire.js";

/** An exchange as an HTTP Archive 1.2: one entry, or for a delivery one for each attempt. */
export function harOf(entry: WireEntry, version: string): object {
  const creator = { name: "apichat emulator", version };
  const request = requestOf(entry);
  const entries = attemptsOf(entry).map(({ at, durationMs, response }) => ({
    startedDateTime: at,
    time: durationMs,
    request,
    response: responseOf(response),
    cache: {},
    timings: { send: 0, wait: durationMs, receive: 0 },
  }));
  return { log: { version: "1.2", creator, entries } };
}

function attemptsOf(entry: WireEntry): readonly Pick<AttemptView, "at" | "durationMs" | "response">[] {
  if (entry.kind !== "delivery") return [entry.record];
  const { at, attempts } = entry.record;
  return attempts.length === 0 ? [{ at, durationMs: 0, response: null }] : attempts;
}

function requestOf(entry: WireEntry): object {
  const { method, url, headers, body } = curlRequestOf(entry);
  const query = [...(URL.parse(url)?.searchParams ?? [])];
  return {
    method,
    url,
    ...messageOf(headers, body),
    queryString: query.map(([name, value]) => ({ name, value })),
    ...(body !== "" && { postData: { mimeType: headerOf(headers, "content-type"), text: body } }),
  };
}

/** A status of 0 is how browsers write that there was no answer. */
function responseOf(answer: HttpView | null): object {
  const { status = 0, headers, body } = answer ?? { headers: {}, body: "" };
  const message = messageOf(headers, body);
  const content = { size: message.bodySize, mimeType: headerOf(headers, "content-type"), text: body };
  return { status, statusText: "", ...message, content, redirectURL: headerOf(headers, "location") };
}

function messageOf(headers: HttpView["headers"], body: string) {
  return {
    httpVersion: "HTTP/1.1",
    cookies: [],
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    // Not recorded; -1 is the format's own word for it.
    headersSize: -1,
    bodySize: new TextEncoder().encode(body).byteLength,
  };
}

function headerOf(headers: HttpView["headers"], wanted: string): string {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";
}
