import { DELIVERY_ID_HEADER, endToEndHeaders, type RequestHead } from "pulumi-apichat/responder";

/** A delivery in a queue. It is plain JSON, so that the dashboard and pull consumers can show it. */
export interface Letter {
  /** Stays the same across retries and replays. */
  id: string;
  workspace: string;
  headers: [name: string, value: string][];
  /** The raw body. */
  bodyBase64: string;
}

/** The largest body that fits, in base64 and with its headers, into a message of a queue (128 KB). */
export const BODY_LIMIT_BYTES = 64 * 1024;

/** Headers that Cloudflare adds to every request, including forwarded ones. */
const CLOUDFLARE_HEADER = /^(cf-|cdn-loop$)/;

export function writeLetter(workspace: string, request: RequestHead, body: Uint8Array): Letter {
  return {
    id: crypto.randomUUID(),
    workspace,
    headers: endToEndHeaders(request.headers()).filter(([name]) => !CLOUDFLARE_HEADER.test(name)),
    bodyBase64: body.toBase64(),
  };
}

/** Converts a letter to the request that forwards it. */
export function readLetter({ id, headers, bodyBase64 }: Letter): RequestInit {
  const carried = new Headers(headers);
  carried.set(DELIVERY_ID_HEADER, id);
  return { method: "POST", headers: carried, body: Uint8Array.fromBase64(bodyBase64) };
}
