import { answerChallenge, answerError } from "./answers.js";
import type { KeyList } from "./keys.js";
import { matchesAnyKey } from "./signature.js";

/** What a handshake asks (section 6.1). */
export interface Handshake {
  token: string;
  challenge: string;
}

/** At most 1 KiB of printable ASCII: more than any challenge needs, and too little to make the endpoint say anything. */
const CHALLENGE_GRAMMAR = /^[\x20-\x7e]{1,1024}$/;

type ParameterReader = (name: string) => unknown;

/**
 * Finds the handshake in a request: `hub_mode` with the value `subscribe`, `hub_verify_token` and `hub_challenge`,
 * all three in the body (a form or a JSON object) or all three in the query; other parameters are ignored. The content
 * type is not looked at, because section 6.1 does not name one. Anything else is no handshake.
 */
export function findHandshake(url: string, bodyText: string): Handshake | undefined {
  return findInBody(bodyText) ?? findInQuery(url);
}

/** Answers a handshake: its challenge; 401 for a token that is none of the keys; 400 for a challenge that is not echoed. */
export async function answerHandshake(handshake: Handshake, verificationKeys: KeyList): Promise<Response> {
  if (!(await matchesAnyKey(verificationKeys, handshake.token))) {
    return answerError("invalid_token", "hub_verify_token is not the verification key of this endpoint");
  }
  if (!CHALLENGE_GRAMMAR.test(handshake.challenge)) {
    return answerError("invalid_challenge", "hub_challenge must be 1 to 1024 characters of printable ASCII");
  }
  return answerChallenge(handshake.challenge);
}

function findInBody(text: string): Handshake | undefined {
  // So that no delivery is parsed before its signature is checked, unless it speaks of handshakes itself.
  if (!text.includes("hub_challenge")) return undefined;
  return toHandshake(/^\s*\{/.test(text) ? readJson(text) : readForm(text));
}

function findInQuery(url: string): Handshake | undefined {
  const start = url.indexOf("?");
  return start < 0 ? undefined : toHandshake(readForm(url.slice(start + 1)));
}

function readForm(text: string): ParameterReader {
  const parameters = new URLSearchParams(text);
  return (name) => parameters.get(name);
}

function readJson(text: string): ParameterReader {
  try {
    const parameters = new Map(Object.entries<unknown>(JSON.parse(text)));
    return (name) => parameters.get(name);
  } catch {
    // Not JSON after all: then it holds no parameters, and the signature decides.
    return () => undefined;
  }
}

function toHandshake(read: ParameterReader): Handshake | undefined {
  const token = read("hub_verify_token");
  const challenge = read("hub_challenge");
  const isHandshake =
    read("hub_mode") === "subscribe" && typeof token === "string" && typeof challenge === "string";
  return isHandshake ? { token, challenge } : undefined;
}
