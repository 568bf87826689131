import type { HandshakeEncoding } from "../errors/index.js";
import { appendQuery } from "./url.js";

export interface EncodedHandshake {
  /** For the encoding `query`, this includes the parameters, after the URL's own query. */
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Fields in the order in which they are sent. A name may repeat, except in JSON. */
export type HandshakeFields = [name: string, value: unknown][];

export interface HandshakeToSend {
  encoding: HandshakeEncoding;
  token: string;
  challenge: string;
  /** Sent instead of the three parameters. Only JSON can carry values other than strings. */
  fields?: HandshakeFields | undefined;
}

export function encodeHandshake(
  url: string,
  { encoding, token, challenge, fields = parametersOf(token, challenge) }: HandshakeToSend,
): EncodedHandshake {
  const texts = fields.map(([name, value]): [string, string] => [name, String(value)]);
  const form = new URLSearchParams(texts).toString();
  if (encoding === "query") return { url: appendQuery(url, form), headers: {}, body: "" };
  if (encoding === "multipart") {
    return { url, headers: { "content-type": MULTIPART_TYPE }, body: writeMultipart(texts) };
  }
  const [type, body] =
    encoding === "json"
      ? ["application/json", JSON.stringify(Object.fromEntries(fields))]
      : ["application/x-www-form-urlencoded", form];
  return { url, headers: { "content-type": type }, body };
}

const parametersOf = (token: string, challenge: string): HandshakeFields => [
  ["hub_mode", "subscribe"],
  ["hub_verify_token", token],
  ["hub_challenge", challenge],
];

/** Cannot occur in a value: a boundary starts a line, and a handshake's values contain no line break. */
const BOUNDARY = "------------------------apichat-handshake";

const MULTIPART_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** Writes texts as a multipart form (RFC 7578). */
function writeMultipart(fields: [name: string, value: string][]): string {
  const parts = fields.map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join("")}--${BOUNDARY}--\r\n`;
}
