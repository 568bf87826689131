import { errors } from "undici";
import { connectionCode } from "../client/attempt.js";
import type { HandshakeCause } from "../errors/index.js";
import type { ExchangePhase } from "./exchange.js";

/** The codes of connection errors: the system's, those of OpenSSL as Node writes them, and undici's. The first match counts. */
const CODES: readonly (readonly [RegExp, HandshakeCause])[] = [
  [/^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL)/, "name_not_resolved"],
  [/^ECONNREFUSED$/, "connection_refused"],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, "connect_timeout"],
  [/^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN)$/, "tls_self_signed"],
  [/ALTNAME/, "tls_wrong_host"],
  [/^CERT_HAS_EXPIRED$/, "tls_expired"],
  [/^UNABLE_TO_|^CERT_UNTRUSTED$/, "tls_untrusted"],
  [/CERT|SSL|TLS|^EPROTO$/, "tls_failed"],
  [/^HPE_INVALID_EOF_STATE$/, "closed_early"],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/, "closed_early"],
];

/** Why there is no answer, told by the error of the connection. */
export function causeOfConnectionError(error: unknown): HandshakeCause {
  const code = connectionCode(error);
  const known = CODES.find(([pattern]) => pattern.test(code));
  if (known !== undefined) return known[1];
  return error instanceof errors.HTTPParserError ? "not_http" : "connection_failed";
}

/** OpenSSL's codes for bytes that are no TLS, such as a plain HTTP answer. */
const NOT_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

/** OpenSSL's own line, whose fifth field is its reason: "403D…:error:0A000410:SSL routines:ssl3_read_bytes:reason:file.c:77:". */
const OPENSSL_LINE = /^[\da-f]+:error:[\da-f]+:[^:]*:[^:]*:([^:]+):.*$/is;

/** Advice for whoever runs Node.js. The service runs elsewhere: it is the endpoint that is to be fixed. */
const RUNTIME_ADVICE = /; if [^;]*try running Node\.js with .*$/is;

/** What an error of the connection says, with its code, and without what only its library's developers need. */
export function describeConnectionError(error: unknown): string {
  const code = connectionCode(error);
  if (NOT_TLS.test(code)) return `it does not speak TLS on this port (${code})`;
  const message = error instanceof Error ? error.message : String(error);
  const words = message.replace(OPENSSL_LINE, "$1").replace(RUNTIME_ADVICE, "");
  return words.includes(code) ? words : `${code} ${words}`;
}

const TIMED_OUT: Record<ExchangePhase, { cause: HandshakeCause; words: string }> = {
  connecting: { cause: "connect_timeout", words: "no connection" },
  sent: { cause: "silent", words: "no answer" },
  answering: { cause: "answer_unfinished", words: "no end of the answer" },
};

/** Why there is no answer, told by how far the exchange had come when its time was over. */
export const causeOfTimeout = (phase: ExchangePhase): { cause: HandshakeCause; words: string } =>
  TIMED_OUT[phase];
