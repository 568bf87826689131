import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv6 } from "node:net";
import {
  HANDSHAKE_RULES,
  type HandshakeCause,
  type HandshakeEncoding,
  type HandshakeStep,
  type HandshakeTranscript,
} from "../errors/index.js";
import { NEVER, orAborted } from "../lib/abort.js";
import { encodeHandshake } from "../lib/handshake-encoding.js";
import { formatUrl, secretsOfUrl } from "../lib/url.js";
import { CAUSES } from "./causes.js";
import { describePrivate, explainStep, findHandshakeWarnings, type HandshakeWarning } from "./describe.js";
import { createChallenge, type HandshakeRequest, numberOf, sendHandshake } from "./handshake.js";

/** How long one handshake may take, in milliseconds. */
export const MAX_ANSWER_MS = 10_000;

/** The webhook URL and key to try, with options. */
export interface DiagnoseOptions {
  /** The webhook URL. */
  url: string;
  /** The key that the endpoint must accept as `hub_verify_token`. */
  verificationKey: string;
  /**
   * Address of the registration interface. If it is public, a loopback or private webhook URL fails, and
   * nothing is sent. Without it, such a URL only causes a warning.
   */
  serviceUrl?: string;
  /** How long each handshake may take, in milliseconds. Default 10,000. */
  limitMs?: number;
  /**
   * Sends one more handshake. If the handshake passed: with a wrong token, to warn if that passes too. If it
   * failed with an unexplained 401 or 403: with a signature, to see whether that was missing. Default false.
   */
  probe?: boolean;
  /** Ends the diagnosis at once: the promise rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** A handshake that passed in at least one encoding. */
export interface PassedHandshake {
  /** Distinguishes the two outcomes. */
  passed: true;
  /** What may still go wrong, or what else should be fixed. */
  warnings: HandshakeWarning[];
  /** What was sent and received, without secrets. */
  transcript: HandshakeTranscript;
}

/** A handshake that failed in every encoding. */
export interface FailedHandshake extends Omit<PassedHandshake, "passed"> {
  /** Distinguishes the two outcomes. */
  passed: false;
  /** Why the most informative encoding failed. */
  cause: HandshakeCause;
  /** What was seen, in one line. */
  reason: string;
  /** How to fix it, in one line. */
  hint: string;
}

/** The outcome of a handshake, discriminated by `passed`. */
export type HandshakeDiagnosis = PassedHandshake | FailedHandshake;

/**
 * Performs the handshake of section 6.1 with a webhook URL, and reports why it fails. Tries a form and JSON together.
 * If both fail, tries a multipart form. Tries the query last, because a key in a URL ends up in the endpoint's log.
 * One encoding that passes is enough. Never throws because of the endpoint's behaviour. The result contains no secrets.
 *
 * @example
 * const diagnosis = await diagnoseHandshake({ url: "https://chat.acme.example/webhooks/apichat", verificationKey });
 * if (!diagnosis.passed) console.error(diagnosis.cause, diagnosis.hint);
 */
export async function diagnoseHandshake(options: DiagnoseOptions): Promise<HandshakeDiagnosis> {
  const { url, serviceUrl, signal = NEVER } = options;
  const resolved = Promise.all([resolveHost(url), serviceUrl === undefined ? [] : resolveHost(serviceUrl)]);
  const [addresses, serviceAddresses] = await orAborted(resolved, signal);
  const isPrivate = addresses.length > 0 && !addresses.some(isPublicAddress);
  if (isPrivate && serviceUrl !== undefined && serviceAddresses.some(isPublicAddress)) {
    return failAsPrivate(url, addresses, serviceUrl);
  }
  return judge(await sendInEveryEncoding(options), { options, addresses, isPrivate });
}

/** In the order in which they are tried: the first two together, then each one only if all before it failed. */
const ENCODINGS: readonly HandshakeEncoding[] = ["form", "json", "multipart", "query"];

async function sendInEveryEncoding(options: DiagnoseOptions): Promise<Sent[]> {
  const requests = createRequests(options);
  const sent = await Promise.all(requests.slice(0, 2).map(send));
  for (const request of requests.slice(2)) {
    if (sent.some(({ step }) => step.rule === undefined)) break;
    sent.push(await send(request));
  }
  return sent;
}

const send = async (request: HandshakeRequest) => ({ request, step: await sendHandshake(request) });

type Sent = Awaited<ReturnType<typeof send>>;

function createRequests(options: DiagnoseOptions): HandshakeRequest[] {
  const { url, verificationKey: token, limitMs = MAX_ANSWER_MS, signal } = options;
  // Every step redacts the challenges of all steps: an endpoint with a cache may return a different step's challenge.
  const secrets = [token, ...secretsOfUrl(url)];
  return ENCODINGS.map((encoding) => {
    const challenge = createChallenge();
    secrets.push(challenge, numberOf(challenge));
    return { url, encoding, token, challenge, limitMs, signal, secrets };
  });
}

async function judge(
  sent: readonly Sent[],
  { options, addresses, isPrivate }: { options: DiagnoseOptions; addresses: string[]; isPrivate: boolean },
): Promise<HandshakeDiagnosis> {
  const { url, serviceUrl, probe = false } = options;
  const steps = sent.map(({ step }) => step);
  const passed = sent.find(({ step }) => step.rule === undefined);
  const warnings = findHandshakeWarnings({
    steps,
    privateAddresses: isPrivate && serviceUrl === undefined ? addresses : [],
    isTokenIgnored: probe && passed !== undefined && (await isWrongTokenAnswered(passed.request)),
  });
  const record: HandshakeTranscript = { url: formatUrl(url), addresses, rounds: 1, steps };
  if (passed !== undefined) return { passed: true, warnings, transcript: record };
  const telling = await findTelling(sent, options);
  return fail(record, { cause: telling.cause, reason: explainStep(telling), warnings });
}

type FailedStep = HandshakeStep & { cause: HandshakeCause };

/** Returns the most informative step. Its cause is changed if a probe finds that a signature was missing. */
async function findTelling(sent: readonly Sent[], { probe = false }: DiagnoseOptions): Promise<FailedStep> {
  const telling = sent.reduce((most, one) => (weigh(one) > weigh(most) ? one : most));
  const step = telling.step as FailedStep;
  const isUnexplained = step.cause === "unauthorized" || step.cause === "forbidden";
  if (!probe || !isUnexplained || !(await passesWhenSigned(telling.request))) return step;
  return { ...step, cause: "signature_demanded" };
}

const CAUSES_BY_WEIGHT = Object.keys(HANDSHAKE_RULES);

/** How much a step reveals about the endpoint; -1 if it passed. */
const weigh = ({ step }: Sent): number => CAUSES_BY_WEIGHT.indexOf(step.cause ?? "");

function fail(
  record: HandshakeTranscript,
  { cause, reason, warnings }: Pick<FailedHandshake, "cause" | "reason" | "warnings">,
): FailedHandshake {
  const { hint } = CAUSES[cause];
  const rule = HANDSHAKE_RULES[cause];
  return { passed: false, cause, reason, hint, warnings, transcript: { ...record, rule, cause, hint } };
}

function failAsPrivate(url: string, addresses: string[], serviceUrl: string): FailedHandshake {
  const reason = `${describePrivate(addresses)}, which the service at ${formatUrl(serviceUrl)} cannot reach`;
  const record = { url: formatUrl(url), addresses, rounds: 0, steps: [] };
  return fail(record, { cause: "private_address", reason, warnings: [] });
}

const isWrongTokenAnswered = (request: HandshakeRequest): Promise<boolean> =>
  passes({ ...request, token: randomBytes(16).toString("hex") });

async function passesWhenSigned(request: HandshakeRequest): Promise<boolean> {
  // Loaded here, because most diagnoses need no signature.
  const { signBody, SIGNATURE_HEADER } = await import("../responder/internal.js");
  const signature = await signBody(request.token, encodeHandshake(request.url, request).body);
  return passes({ ...request, headers: { [SIGNATURE_HEADER]: signature } });
}

const passes = async (request: HandshakeRequest): Promise<boolean> =>
  (await sendHandshake(request)).rule === undefined;

/** Loopback, private, link-local and other ranges that a service elsewhere cannot reach. */
const notPublic = new BlockList();
for (const range of [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "::/127",
  "fc00::/7",
  "fe80::/10",
]) {
  const [net = "", prefix] = range.split("/");
  notPublic.addSubnet(net, Number(prefix), isIPv6(net) ? "ipv6" : "ipv4");
}

const isPublicAddress = (address: string): boolean =>
  !notPublic.check(address, isIPv6(address) ? "ipv6" : "ipv4");

/** The addresses of a URL's host; empty if its name does not resolve, which the handshake itself reports. */
async function resolveHost(url: string): Promise<string[]> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return [host];
  try {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  } catch {
    return [];
  }
}
