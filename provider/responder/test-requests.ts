import type { OutboundMessage } from "../../schema/outbound.js";
import { encodeHandshake } from "../lib/handshake-encoding.js";
import type { DeliveryKind } from "./delivery.js";
import type { Handshake } from "./handshake.js";
import { signBody, SIGNATURE_HEADER } from "./signature.js";

/** What a test delivery contains. */
export interface CreateDeliveryOptions {
  /** The key that signs. */
  verificationKey: string | Uint8Array;
  /** The webhook URL. Default: http://localhost/ */
  url?: string;
  /** Fields that replace those of the sample message for this kind. */
  message?: Record<string, unknown>;
  /** The exact body, instead of a message. */
  body?: string | Uint8Array;
  /** The header `x-flow-ns`. Default: "f0". */
  flowNs?: string;
}

/** What a test handshake contains. */
export interface CreateHandshakeOptions {
  /** The token to send. */
  verificationKey: string;
  /** The webhook URL. Default: http://localhost/ */
  url?: string;
  /** How the three parameters are sent. Default: "form". */
  encoding?: Handshake["encoding"];
  /** The challenge to send. Default: 32 random hex digits. */
  challenge?: string;
}

const COMMON = { sender_id: "7", conv_id: 1, message_type: "outgoing", private: false } as const;
const BUTTONS = [{ type: "postback", title: "Yes", payload: "yes" }];

const SAMPLES: Record<Exclude<DeliveryKind, "unknown">, OutboundMessage> = {
  text: { ...COMMON, type: "text", text: "Hello" },
  image: { ...COMMON, type: "image", url: "https://files.example/1.png" },
  audio: { ...COMMON, type: "audio", url: "https://files.example/1.mp3" },
  video: { ...COMMON, type: "video", url: "https://files.example/1.mp4" },
  file: { ...COMMON, type: "file", url: "https://files.example/1.pdf" },
  button_template: {
    ...COMMON,
    type: "text",
    text: "Shall we?",
    content_type: "button_template",
    content_attributes: { text: "Shall we?", buttons: BUTTONS },
  },
  generic_template: {
    ...COMMON,
    type: "text",
    text: "Our offer",
    content_type: "generic_template",
    content_attributes: {
      ratio: "horizontal",
      items: [
        {
          title: "One",
          subtitle: "The first",
          image_url: "https://files.example/1.png",
          item_url: null,
          default_action: null,
          buttons: BUTTONS,
        },
      ],
    },
  },
};

/**
 * Creates a signed delivery as the service sends it (section 6.2), for your own tests.
 *
 * @example
 * const response = await responder(await createDelivery("text", { verificationKey, message: { text: "Olá" } }));
 */
export async function createDelivery(
  kind: keyof typeof SAMPLES,
  { verificationKey, url = "http://localhost/", message, body, flowNs = "f0" }: CreateDeliveryOptions,
): Promise<Request> {
  const sent = body ?? JSON.stringify({ ...SAMPLES[kind], ...message });
  return new Request(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      [SIGNATURE_HEADER]: await signBody(verificationKey, sent),
      "x-flow-ns": flowNs,
      "x-action": "messages",
    },
    body: typeof sent === "string" ? sent : new Uint8Array(sent),
  });
}

/**
 * Creates a handshake as the service sends it (section 6.1), for your own tests. The correct response has the
 * challenge as its body.
 *
 * @example
 * const response = await responder(createHandshake({ verificationKey, challenge: "c1" }));
 */
export function createHandshake(options: CreateHandshakeOptions): Request {
  const { verificationKey: token, url = "http://localhost/", encoding = "form" } = options;
  const { challenge = crypto.randomUUID().replaceAll("-", "") } = options;
  const sent = encodeHandshake(url, { encoding, token, challenge });
  return new Request(sent.url, { method: "POST", headers: sent.headers, body: sent.body || null });
}
