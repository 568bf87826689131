import { looksLikePreflight } from "../../lib/version.js";
import { findHandshake, type Handshake, shortTextOf } from "../../responder/handshake.js";
import type { Answer, BodyFailure, IncomingRequest, RequestHead } from "../../responder/request.js";
import type { Responder } from "../../responder/responder.js";
import { SIGNATURE_HEADER } from "../../responder/signature.js";
import { printUrl } from "../../lib/url.js";
import { parseMessage } from "../../responder/delivery.js";
import type { OutboundKind } from "../../../schema/message-kind.js";

/** The request with its raw body, for forwarding. */
export interface RawRequest {
  head: RequestHead;
  body: Uint8Array;
}

/** Gets each request once its answer is known, before it is sent. */
export type Watcher = (seen: SeenRequest, raw: RawRequest) => void;

/** A responder that answers as the given one does, and reports what it answered. */
export function watchResponder(
  responder: Pick<Responder, "answer">,
  onSeen: Watcher,
): Pick<Responder, "answer"> {
  let count = 0;
  return {
    answer: async (request, context) => {
      const watched = keepBody(request);
      const answer = await responder.answer(watched.request, context);
      const raw = { head: request, body: watched.body() };
      count += 1;
      onSeen(toSeen(raw, { id: count, answer }), raw);
      return answer;
    },
  };
}

function keepBody(request: IncomingRequest): { request: IncomingRequest; body: () => Uint8Array } {
  let kept = new Uint8Array();
  const readBody = async (limitBytes: number): Promise<Uint8Array | BodyFailure> => {
    const body = await request.readBody(limitBytes);
    if (typeof body !== "string") kept = new Uint8Array(body);
    return body;
  };
  const { method, url } = request;
  const header = (name: string): string | undefined => request.header(name);
  const headers = (): ReturnType<typeof request.headers> => request.headers();
  return { request: { method, url, header, headers, readBody }, body: () => kept };
}

/** The answers that are about the signature or what was signed; every other refusal came before it was checked. */
const CODES_OF_DELIVERIES = new Set(["invalid_signature", "invalid_json"]);

function toSeen({ head, body }: RawRequest, { id, answer }: { id: number; answer: Answer }): SeenRequest {
  const text = new TextDecoder().decode(body);
  const { code, reason } = readError(answer);
  const common = {
    id,
    at: new Date().toISOString(),
    status: answer.status,
    reason,
    path: maskPath(head.url),
    headers: Array.from(head.headers(), maskHeader),
  };
  const isAnswered = answer.status === 200;
  const handshake = head.method === "POST" ? findHandshake(head.url, shortTextOf(body)) : undefined;
  if (handshake !== undefined) {
    const verdict = isAnswered ? "passed" : "refused";
    const isPreflight = looksLikePreflight(head.header("user-agent"));
    const { encoding } = handshake;
    return { type: "handshake", verdict, encoding, looksLikePreflight: isPreflight, ...common };
  }
  if (!isAnswered && !CODES_OF_DELIVERIES.has(code)) {
    return { type: "request", verdict: "refused", method: head.method, ...common };
  }
  const verdict = isAnswered ? "accepted" : "refused";
  const signature = judgeSignature(head, code);
  return { type: "delivery", verdict, signature, ...readContent(text), ...common, body: hideToken(text) };
}

/** A handshake with misspelt names is taken for a delivery, and holds a key. */
const hideToken = (body: string): string =>
  body.includes("verify_token") ? "(not shown: it holds a verify_token)" : body;

function judgeSignature(head: RequestHead, code: string): SignatureVerdict {
  if (code !== "invalid_signature") return "right";
  return head.header(SIGNATURE_HEADER) === undefined ? "missing" : "wrong";
}

/** The responder's own error: `{ "error": { "code", "message" } }`. */
function readError({ status, body }: Answer): { code: string; reason: string } {
  if (status === 200) return { code: "", reason: "" };
  const { error } = JSON.parse(body) as { error: { code: string; message: string } };
  return { code: error.code, reason: error.message };
}

const maskPath = (url: string): string => {
  const { origin, href } = new URL(url, "http://listen");
  return printUrl(href).slice(origin.length);
};

const SECRET_HEADERS = new Set(["authorization", "proxy-authorization", "cookie"]);

const maskHeader = ([name, value]: readonly [string, string]): [string, string] => [
  name,
  SECRET_HEADERS.has(name.toLowerCase()) ? "***" : value,
];

/** Reads the content of a delivery, whoever wrote it. What is missing, or of another type, is empty. */
function readContent(body: string): DeliveryContent {
  const parsed = parseMessage(body);
  if (parsed === undefined) return { kind: "unknown", sender: "", conversation: "", text: "" };
  const { kind, message } = parsed;
  const fields = fieldsOf(message);
  return {
    kind,
    sender: toText(fields["sender_id"]),
    conversation: toText(fields["conv_id"]),
    text: toText(fields["text"]) || toText(fields["url"]),
  };
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" ? String(value) : "";
}

/** The signature of a delivery: made with the verification key, not made with it, or missing. */
type SignatureVerdict = "right" | "wrong" | "missing";

/** What every line about a request has. `id` counts the requests of one run. */
interface Seen {
  id: number;
  /** ISO 8601. */
  at: string;
  /** What was answered. */
  status: number;
  /** Why it was refused; empty if it was not. */
  reason: string;
  /** Path and query as they came; the values of the query are masked. */
  path: string;
  headers: [name: string, value: string][];
}

/** A handshake (section 6.1). Its body is not shown: it holds a key. */
export interface SeenHandshake extends Seen {
  type: "handshake";
  verdict: "passed" | "refused";
  encoding: Handshake["encoding"];
  /** Its `User-Agent` is that of the handshakes that this package makes before the service does. Any sender can set it. */
  looksLikePreflight: boolean;
}

/** The content of a delivery (section 2.4). It is not checked: with a wrong signature anybody may have written it. */
interface DeliveryContent {
  kind: OutboundKind | "unknown";
  /** `sender_id`; empty if there is none. */
  sender: string;
  /** The digits of `conv_id`; empty if there is none. */
  conversation: string;
  /** Its text, or the address of its media. */
  text: string;
}

/** A delivery (section 6.2), also one that was refused. */
export interface SeenDelivery extends Seen, DeliveryContent {
  type: "delivery";
  verdict: "accepted" | "refused";
  signature: SignatureVerdict;
  body: string;
}

/** Neither: another method, another path, a body that is too large. */
export interface SeenOther extends Seen {
  type: "request";
  verdict: "refused";
  method: string;
}

/** What the target of `--forward` answered. */
export interface SeenForward {
  type: "forward";
  /** The delivery that was forwarded. */
  id: number;
  at: string;
  url: string;
  /** Null if there was no answer. */
  status: number | null;
  /** Why there was no answer; empty if there was one. */
  reason: string;
  durationMs: number;
}

/** The first line. */
interface Listening {
  type: "listening";
  at: string;
  url: string;
  forwardTo: string | null;
}

export type SeenRequest = SeenHandshake | SeenDelivery | SeenOther;

export type ListenEvent = Listening | SeenRequest | SeenForward;
