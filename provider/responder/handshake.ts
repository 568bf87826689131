import { isMap, jsonOrText } from "../lib/values.js";
import { queryOf } from "./request.js";

/** A handshake that was answered with its challenge (section 6.1). */
export interface Handshake {
  /** How the three parameters were sent. */
  encoding: "form" | "json" | "multipart" | "query";
  /** The index of the verification key that was sent as the token. */
  keyIndex: number;
}

export interface ReceivedHandshake {
  encoding: Handshake["encoding"];
  token: string;
  challenge: string;
}

/** The longest body that may be a handshake, in bytes. A real one is shorter. */
const HANDSHAKE_LIMIT_BYTES = 8 * 1024;

type ParameterReader = (name: string) => unknown;

/**
 * Finds all three parameters in the body (a form, a multipart form or a JSON object), or else all three in the
 * query. Ignores other parameters. Does not check the content type, because section 6.1 does not name one.
 */
export function findHandshake(url: string, shortText: string): ReceivedHandshake | undefined {
  const query = queryOf(url);
  return findInBody(shortText) ?? (query === "" ? undefined : toHandshake(readForm(query), "query"));
}

const decoder = new TextDecoder();

/** The body as text; "" if it is longer than any handshake, because a delivery is parsed only after verification. */
export const shortTextOf = (body: Uint8Array): string =>
  body.length > HANDSHAKE_LIMIT_BYTES ? "" : decoder.decode(body);

function findInBody(text: string): ReceivedHandshake | undefined {
  if (text.startsWith("--")) {
    const fields = readMultipart(text);
    return toHandshake((name) => fields.get(name), "multipart");
  }
  if (!/^\s*\{/.test(text)) return toHandshake(readForm(text), "form");
  // Without hub_challenge, it is a delivery, which must not be parsed before its signature is checked.
  return text.includes("hub_challenge") ? toHandshake(readJson(text), "json") : undefined;
}

function readForm(text: string): ParameterReader {
  // Pairs without "=" contain no parameter. With many of them, URLSearchParams would take quadratic time.
  const pairs = text.split("&").filter((pair) => pair.includes("="));
  const parameters = new URLSearchParams(pairs.join("&"));
  return (name) => parameters.get(name);
}

function readJson(text: string): ParameterReader {
  const value = jsonOrText(text);
  const parameters = new Map(isMap(value) ? Object.entries(value) : []);
  return (name) => parameters.get(name);
}

const FIRST_LINE = /^--[^\r\n]{1,70}(?=\r\n)/;
const LAST_LINE = /^--(\r\n)?$/;
const FIELD_NAME =
  /\r\ncontent-disposition:[ \t]*form-data;[ \t]*name=(?:"([^"\r\n]*)"|([^\s";]+))[ \t]*(?:\r\n|$)/i;

/**
 * The first line is the boundary. Files are ignored. If a field's name repeats, the first field is used.
 * Returns an empty map for an incomplete form. Takes linear time.
 */
function readMultipart(text: string): Map<string, string> {
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

function toHandshake(read: ParameterReader, encoding: Handshake["encoding"]): ReceivedHandshake | undefined {
  const token = read("hub_verify_token");
  const challenge = read("hub_challenge");
  const isHandshake =
    read("hub_mode") === "subscribe" && typeof token === "string" && typeof challenge === "string";
  return isHandshake ? { encoding, token, challenge } : undefined;
}
