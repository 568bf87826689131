// A separate entry file: only `apichat listen` reports each request.

import { formatUrl } from "../lib/url.js";
import { looksLikePreflight } from "../lib/version.js";
import type { Answer, ResponderErrorCode } from "./answers.js";
import { parseMessage } from "./delivery.js";
import { findHandshake, shortTextOf } from "./handshake.js";
import type { IncomingRequest, RequestHead } from "./request.js";
import type { Responder } from "./responder.js";
import { SIGNATURE_HEADER } from "./signature.js";

export interface RawRequest {
  head: RequestHead;
  body: Uint8Array;
}

/** A responder that answers as the given one does, and reports each request before its response is sent. */
export function watchResponder(
  responder: Pick<Responder, "answer">,
  onSeen: (seen: SeenRequest, raw: RawRequest) => void,
): Pick<Responder, "answer"> {
  let count = 0;
  return {
    answer: async (head, context) => {
      const raw: RawRequest = { head, body: new Uint8Array() };
      const { method, url } = head;
      const request: IncomingRequest = {
        method,
        url,
        header: (name) => head.header(name),
        headers: () => head.headers(),
        readBody: async (limitBytes) => {
          const body = await head.readBody(limitBytes);
          if (typeof body !== "string") raw.body = new Uint8Array(body);
          return body;
        },
      };
      const answer = await responder.answer(request, context);
      count += 1;
      onSeen(toSeen(raw, { id: count, answer }), raw);
      return answer;
    },
  };
}

/** The error codes about the signature or the signed body; others come before the signature is checked. */
const CODES_OF_DELIVERIES = new Set<ResponderErrorCode>(["invalid_signature", "invalid_json"]);

export type SeenRequest = ReturnType<typeof toSeen>;

function toSeen({ head, body }: RawRequest, { id, answer }: { id: number; answer: Answer }) {
  const { status, error } = answer;
  const isAnswered = error === undefined;
  const common = {
    /** Counts the requests of one run. */
    id,
    at: new Date().toISOString(),
    status,
    /** Why it was rejected; empty if it was accepted. */
    reason: error?.message ?? "",
    method: head.method,
    path: maskPath(head.url),
    headers: Array.from(head.headers(), maskHeader),
  };
  const handshake = head.method === "POST" ? findHandshake(head.url, shortTextOf(body)) : undefined;
  // Without its body, which contains a key.
  if (handshake !== undefined) {
    return {
      type: "handshake" as const,
      verdict: isAnswered ? ("passed" as const) : ("refused" as const),
      encoding: handshake.encoding,
      looksLikePreflight: looksLikePreflight(head.header("user-agent")),
      ...common,
    };
  }
  if (!isAnswered && !CODES_OF_DELIVERIES.has(error.code)) {
    return { type: "request" as const, verdict: "refused" as const, ...common };
  }
  const text = new TextDecoder().decode(body);
  const wrong = head.header(SIGNATURE_HEADER) === undefined ? ("missing" as const) : ("wrong" as const);
  return {
    type: "delivery" as const,
    verdict: isAnswered ? ("accepted" as const) : ("refused" as const),
    signature: error?.code === "invalid_signature" ? wrong : ("right" as const),
    ...readContent(text),
    ...common,
    // A handshake with misspelt names looks like a delivery, and contains a key.
    body: text.includes("verify_token") ? "(not shown: it contains a verify_token)" : text,
  };
}

const maskPath = (url: string): string => {
  const { origin, href } = new URL(url, "http://listen");
  return formatUrl(href).slice(origin.length);
};

const SECRET_HEADERS = new Set(["authorization", "proxy-authorization", "cookie"]);

const maskHeader = ([name, value]: readonly [string, string]): [string, string] => [
  name,
  SECRET_HEADERS.has(name.toLowerCase()) ? "***" : value,
];

function readContent(body: string) {
  const { kind = "unknown" as const, message } = parseMessage(body) ?? {};
  const fields = Object(message) as Record<string, unknown>;
  return {
    kind,
    sender: toText(fields["sender_id"]),
    /** The digits of `conv_id`. */
    conversation: toText(fields["conv_id"]),
    /** The text, or the address of the media. */
    text: toText(fields["text"]) || toText(fields["url"]),
  };
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" ? String(value) : "";
}
