import type { HandshakeCause } from "../errors/index.js";

interface CauseFacts {
  /** Describes what was seen. Absent if the status or the address says enough. */
  finding?: string;
  hint: string;
  /** Whether waiting rarely helps, because someone must change something first. */
  isLasting?: true;
}

const CHECK_NETWORK = "start the endpoint and check its host, port and firewall";
const ANSWER_AT_ONCE = "answer the handshake at once, before any other work";
const PLAIN_CHALLENGE =
  "answer with the value of hub_challenge as the whole body, as plain text and nothing else";
/** What to do if an endpoint fails only on handshakes that are sent as a form. */
export const FORMS_FAIL =
  "the endpoint fails on a form: see its log; FastAPI needs a package for forms (pip install python-multipart)";
const SAME_KEY = "give the endpoint the same verification key";

export const CAUSES: Record<HandshakeCause, CauseFacts> = {
  private_address: { hint: "give a URL that the service can reach, such as a tunnel's or a proxy's" },
  name_not_resolved: {
    finding: "the name does not resolve",
    hint: "check the host name for typos, and its DNS record; a new record may take minutes",
    isLasting: true,
  },
  connect_timeout: {
    finding: "connecting takes too long",
    hint: `${CHECK_NETWORK}: the network drops the packets, or, for https://, the port does not speak TLS`,
  },
  connection_failed: { hint: CHECK_NETWORK },
  connection_refused: {
    finding: "nothing listens there",
    hint: CHECK_NETWORK,
  },
  proxy_failed: {
    hint:
      "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY of this machine, and what the proxy allows; " +
      "the service may be able to reach the endpoint without this proxy",
    isLasting: true,
  },
  closed_early: {
    finding: "the connection is closed before the answer is complete",
    hint: "check the logs of the endpoint, and of the proxy in front of it, for a crash during this request",
  },
  not_http: {
    finding: "the server does not speak HTTP",
    hint: "check the port and the scheme, http or https, of the URL",
  },
  tls_not_spoken: {
    hint: "use the endpoint's TLS port, or http:// in the URL",
    isLasting: true,
  },
  tls_failed: {
    hint: "enable TLS 1.2 or later at the endpoint, with a certificate for this host name that public clients trust",
  },
  tls_untrusted: {
    finding: "the certificate's issuer is not trusted",
    hint: "make the endpoint send its whole certificate chain, from an authority that public clients trust",
  },
  tls_self_signed: {
    finding: "the certificate is self-signed",
    hint: "give the endpoint a certificate from an authority that public clients trust, such as Let's Encrypt",
  },
  tls_wrong_host: {
    finding: "the certificate is for a different host name",
    hint: "give the endpoint a certificate for the host name of the URL, or use the certificate's name in the URL",
    isLasting: true,
  },
  tls_expired: {
    finding: "the certificate has expired",
    hint: "renew the endpoint's certificate, and let its server load the new one",
    isLasting: true,
  },
  silent: {
    finding: "it accepts the connection but does not answer",
    hint: ANSWER_AT_ONCE,
  },
  answer_unfinished: {
    finding: "the answer starts but does not end",
    hint: `${ANSWER_AT_ONCE}, and end the response`,
  },
  redirect: {
    hint: "register the final URL; the service may not follow redirects, and a redirected POST may lose its body",
  },
  not_found: { hint: "check the path of the URL, and accept POST there" },
  method_not_allowed: { hint: "accept POST at this path; the handshake is not a GET" },
  other_status: {
    hint: "answer the handshake with status 200; it is a POST with hub_mode, hub_verify_token and hub_challenge",
  },
  server_error: {
    hint: "check the logs of the endpoint, and of the proxy in front of it; answer the handshake with status 200",
  },
  other_body: { finding: "the body is not the challenge", hint: PLAIN_CHALLENGE },
  empty_body: { finding: "it answers without the challenge", hint: PLAIN_CHALLENGE },
  unauthorized: { hint: `${SAME_KEY}; do not require other credentials, or a signature on the handshake` },
  forbidden: {
    hint: `${SAME_KEY}; if a firewall or login is in front of it, let the webhook's path through`,
  },
  html_page: {
    finding: "an HTML page",
    hint: `check that the URL is that of the webhook, not of a website or login page; ${PLAIN_CHALLENGE}`,
  },
  token_refused: {
    finding: "it rejects the token",
    hint:
      `${SAME_KEY}, and restart it if it reads its keys only at startup; ` +
      "if the keys are the same, check that hub_verify_token is not decoded twice before you compare it",
  },
  signature_demanded: {
    finding: "it requires a signature on the handshake",
    hint:
      "answer the handshake before you check the signature: " +
      "the specification defines a signature only for deliveries; the token protects the handshake",
  },
  body_echoed: {
    finding: "the whole handshake is echoed",
    hint: "check hub_verify_token, and answer with the value of hub_challenge alone, as plain text and nothing else",
  },
  challenge_among_more: {
    finding: "the body contains more than the challenge",
    hint: PLAIN_CHALLENGE,
  },
  challenge_as_number: {
    finding: "the challenge was read as a number",
    hint: "keep hub_challenge a string: do not pass it through parseInt, Number or int()",
  },
  challenge_case_changed: {
    finding: "the case of the challenge was changed",
    hint: "answer with hub_challenge exactly as received, without changing upper or lower case",
  },
  challenge_in_json: {
    finding: "the challenge is inside JSON",
    hint: `answer with text, not with JSON; ${PLAIN_CHALLENGE}`,
  },
  challenge_in_quotes: {
    finding: "the challenge is in quotes",
    hint: `answer without a JSON encoder, such as res.json or json.dumps; ${PLAIN_CHALLENGE}`,
  },
  challenge_padded: {
    finding: "whitespace or a byte order mark surrounds the challenge",
    hint: `leave out the line break or byte order mark; ${PLAIN_CHALLENGE}`,
  },
};

export const isLasting = (cause: HandshakeCause): boolean => CAUSES[cause].isLasting ?? false;
