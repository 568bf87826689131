import { createResponder, type Delivery, type Responder } from "../../responder/index.js";
import { formatUrl } from "../../lib/url.js";
import { looksLikePreflight } from "../../lib/version.js";

/** A request and its response: a handshake that passed, a delivery that was accepted, or any other request. */
export interface ReceivedRequest extends Partial<ReceivedDelivery> {
  type: "handshake" | "delivery" | "request";
  /** The number of the request in this run, from 1. */
  id: number;
  at: string;
  method: string;
  /** The path and the query, with the query's values hidden. */
  path: string;
  status: number;
  /** Why it was rejected; empty if it was accepted. */
  reason: string;
  /** Whether its user agent is that of this package's own handshakes. */
  looksLikePreflight: boolean;
  /** How the parameters of the handshake were sent. */
  encoding?: string;
}

/** What a delivery contains; a field is empty if it is neither text nor a number. */
interface ReceivedDelivery {
  kind: string;
  sender: string;
  conversation: string;
  /** The text, or the URL of the media. */
  text: string;
  body: string;
}

type Raw = { delivery: Delivery; headers: Iterable<readonly [string, string]> };

/** A responder that reports each request before it responds; for accepted deliveries, it also passes `raw`. */
export function createReceiver(
  verificationKeys: string,
  onReceived: (received: ReceivedRequest, raw?: Raw) => void,
): Pick<Responder, "answer"> {
  let count = 0;
  return {
    answer: async (request, context) => {
      let seen: Partial<ReceivedRequest> = {};
      let raw: Raw | undefined;
      const responder = createResponder({
        verificationKeys,
        onHandshake: ({ encoding }) => void (seen = { type: "handshake", encoding }),
        onDelivery: (delivery, { request: head }) => {
          seen = { type: "delivery", ...describe(delivery) };
          raw = { delivery, headers: head.headers() };
        },
      });
      const { status, error, ...answer } = await responder.answer(request, context);
      count += 1;
      const { origin, href } = new URL(request.url, "http://listen");
      onReceived(
        {
          type: "request",
          id: count,
          at: new Date().toISOString(),
          method: request.method,
          path: formatUrl(href).slice(origin.length),
          status,
          reason: error?.message ?? "",
          looksLikePreflight: looksLikePreflight(request.header("user-agent")),
          ...seen,
        },
        raw,
      );
      return { status, ...answer };
    },
  };
}

function describe({ kind, message, rawBody }: Delivery): ReceivedDelivery {
  const fields = Object(message) as Record<string, unknown>;
  return {
    kind,
    sender: toText(fields["sender_id"]),
    conversation: toText(fields["conv_id"]),
    text: toText(fields["text"]) || toText(fields["url"]),
    body: new TextDecoder().decode(rawBody),
  };
}

const toText = (value: unknown): string =>
  ["string", "number", "bigint"].includes(typeof value) ? String(value) : "";
