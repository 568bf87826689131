import type { HandshakeEncoding } from "../errors/index.js";
import { appendQuery } from "./url.js";

/** A handshake as it is sent (section 6.1). */
export interface EncodedHandshake {
  /** With the parameters behind its own query, where they travel in it. */
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Puts the three parameters into a form, into JSON, into a multipart form, or behind the URL's own query. */
export function encodeHandshake(
  url: string,
  { encoding, token, challenge }: { encoding: HandshakeEncoding; token: string; challenge: string },
): EncodedHandshake {
  const parameters = { hub_mode: "subscribe", hub_verify_token: token, hub_challenge: challenge };
  const form = new URLSearchParams(parameters).toString();
  if (encoding === "query") return { url: appendQuery(url, form), headers: {}, body: "" };
  if (encoding === "multipart") {
    return { url, headers: { "content-type": MULTIPART_TYPE }, body: writeMultipart(parameters) };
  }
  const [type, body] =
    encoding === "json"
      ? ["application/json", JSON.stringify(parameters)]
      : ["application/x-www-form-urlencoded", form];
  return { url, headers: { "content-type": type }, body };
}

/** It begins a line, and no value of a handshake has a line break: it cannot be in one. */
const BOUNDARY = "------------------------apichat-handshake";

const MULTIPART_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** Writes texts as a multipart form (RFC 7578). */
function writeMultipart(fields: Record<string, string>): string {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join("")}--${BOUNDARY}--\r\n`;
}

const FIRST_LINE = /^--[^\r\n]{1,70}(?=\r\n)/;
const LAST_LINE = /^--(\r\n)?$/;
const FIELD_NAME =
  /\r\ncontent-disposition:[ \t]*form-data;[ \t]*name=(?:"([^"\r\n]*)"|([^\s";]+))[ \t]*(?:\r\n|$)/i;

/**
 * Reads the texts of a multipart form, whose first line is its boundary; files are left out, and of fields with one name the
 * first counts. Empty for what is no whole form. Takes time in proportion to the length.
 */
export function readMultipart(text: string): Map<string, string> {
  const [boundary] = FIRST_LINE.exec(text) ?? [];
  if (boundary === undefined) return new Map();
  const parts = `\r\n${text}`.split(`\r\n${boundary}`).slice(1);
  const isComplete = LAST_LINE.test(parts.pop() ?? "") && parts.every((part) => part.startsWith("\r\n"));
  return new Map(isComplete ? parts.flatMap(readPart).toReversed() : []);
}

function readPart(part: string): [name: string, value: string][] {
  const end = part.indexOf("\r\n\r\n");
  const [, quoted, bare] = FIELD_NAME.exec(part.slice(0, Math.max(end, 0))) ?? [];
  const name = quoted ?? bare;
  return name === undefined ? [] : [[name, part.slice(end + 4)]];
}
