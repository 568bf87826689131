import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { backOffMs } from "../client/retry.js";
import { ApiChatError, type HandshakeRule, type HandshakeStep, type HandshakeTranscript } from "../errors.js";
import { printUrl } from "../url.js";
import { isPublicAddress } from "./addresses.js";
import { mayBecomeReady, performHandshake, type HandshakeTarget } from "./handshake.js";
import type { Preflight } from "./inputs.js";
import { say, sayIfSlow } from "./progress.js";

export interface PreflightOptions extends HandshakeTarget {
  /** The resource's name, for messages. */
  name: string;
  mode: Preflight;
  /** Address of the registration interface: a public service cannot reach a private webhook URL. */
  baseUrl: string;
  /** When waiting for the endpoint ends, in milliseconds of `performance.now()`. */
  deadline: number;
}

/** An endpoint has this much time to answer even when `readySeconds` is over, in milliseconds. */
const LEAST_ANSWER_MS = 1_000;

const MENDS: Record<HandshakeRule, string> = {
  private_address:
    'give a URL that the service can reach, through a tunnel or a reverse proxy; if it can reach this one, set preflight: "warn"',
  unreachable:
    'start the endpoint and check host, port and firewall; if only the service can reach it, set preflight: "warn"',
  tls: "give the endpoint a certificate that public clients trust, for this host name",
  no_answer: "answer the handshake at once, before any other work",
  redirect: "register the final URL; a redirected POST loses its body",
  token_refused: "give the endpoint the same verification key, and ask for no other credentials",
  status:
    "answer the handshake with status 200; it is a POST with hub_mode, hub_verify_token and hub_challenge",
  wrong_challenge: "answer with the value of hub_challenge as the whole body, as plain text and nothing else",
};

/**
 * Performs the handshake against the webhook URL before the service does, so that a mistake in the endpoint never reaches a
 * live registration. Waits until the deadline for an endpoint that is not there yet. Throws `handshake_failed` with a
 * transcript. Under "warn" one round is made and its failure said: the service may see what this machine cannot.
 */
export async function preflight(options: PreflightOptions): Promise<void> {
  if (options.mode === "off") return;
  try {
    await requireHandshake(options);
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    if (options.mode === "warn")
      return say(options.name, `warning: ${error.message}; set-webhook is called all the same`);
    error.message += "; set-webhook was not called";
    throw error;
  }
}

async function requireHandshake(options: PreflightOptions): Promise<void> {
  const { name, url } = options;
  await refusePrivateAddress(options);
  let round = 1;
  let seen = "";
  const steps = await sayIfSlow(
    name,
    () => `waiting for ${printUrl(url)} to answer the handshake, attempt ${round}${seen}`,
    async () => {
      for (; ; round += 1) {
        const made = await handshakeInEveryEncoding(options);
        const pauseMs = backOffMs(round);
        const isLast = options.mode === "warn" || performance.now() + pauseMs > options.deadline;
        if (isLast || isDecided(made)) return made;
        seen = `; so far ${summarizeStep(tellingStep(made))}`;
        await sleep(pauseMs);
      }
    },
  );
  if (steps.every((step) => step.rule !== undefined)) throw await handshakeFailed(url, steps, round);
  const failed = steps.filter((step) => step.rule !== undefined);
  if (failed.length > 0)
    say(name, `the handshake passes, but not as ${failed.map(describeStep).join("; not as ")}`);
}

/** The query comes last, and only if the body does not do: a key in a URL ends up in the endpoint's access log. */
async function handshakeInEveryEncoding(options: PreflightOptions): Promise<HandshakeStep[]> {
  const leftMs = Math.max(LEAST_ANSWER_MS, options.deadline - performance.now());
  const inBody = await Promise.all([
    performHandshake(options, "form", leftMs),
    performHandshake(options, "json", leftMs),
  ]);
  const passes = inBody.some(({ rule }) => rule === undefined);
  return passes ? inBody : [...inBody, await performHandshake(options, "query", leftMs)];
}

/** A round decides if one encoding passes, if an answer is wrong for good, or if nothing in it is worth waiting for. */
function isDecided(steps: readonly HandshakeStep[]): boolean {
  return steps.some(isFinal) || !steps.some(mayBecomeReady);
}

const isFinal = ({ rule }: HandshakeStep): boolean =>
  rule === undefined || rule === "wrong_challenge" || rule === "redirect";

/** The step that tells most: an answer over silence, a wrong challenge over a refusal. */
function tellingStep(steps: readonly HandshakeStep[]): HandshakeStep & { rule: HandshakeRule } {
  const order = Object.keys(MENDS);
  const failed = steps.filter(
    (step): step is HandshakeStep & { rule: HandshakeRule } => step.rule !== undefined,
  );
  return failed.reduce((most, step) => (order.indexOf(step.rule) > order.indexOf(most.rule) ? step : most));
}

async function handshakeFailed(url: string, steps: HandshakeStep[], rounds: number): Promise<ApiChatError> {
  const telling = tellingStep(steps);
  const transcript: HandshakeTranscript = {
    url: printUrl(url),
    addresses: await resolveHost(url),
    rounds,
    steps,
    rule: telling.rule,
    mend: MENDS[telling.rule],
  };
  return transcriptError(transcript, describeStep(telling));
}

function transcriptError(transcript: HandshakeTranscript, reason: string): ApiChatError {
  const { url, addresses, steps, mend, rounds } = transcript;
  const lines = [
    `the handshake with ${url} failed: ${reason}; ${mend}`,
    `  address: ${addresses.join(", ") || "the name does not resolve"}`,
    ...steps.map((step) => `  ${describeStep(step)}, ${step.ms} ms`),
    `  attempts: ${rounds}`,
  ];
  const httpStatus = steps.find((step) => step.rule === transcript.rule)?.httpStatus;
  return new ApiChatError("handshake_failed", lines.join("\n"), {
    operation: "handshake",
    attempts: rounds,
    transcript,
    ...(httpStatus === undefined ? {} : { httpStatus }),
  });
}

const summarizeStep = ({ connectError, httpStatus }: HandshakeStep): string =>
  connectError ?? `HTTP ${httpStatus}`;

function describeStep(step: HandshakeStep): string {
  const { encoding, rule, connectError, httpStatus, contentType, location, firstBytes } = step;
  if (connectError !== undefined) return `${encoding}: ${connectError}`;
  const type = contentType === undefined ? "" : ` ${contentType}`;
  const target = location === undefined ? "" : ` to ${location}`;
  const body = firstBytes === undefined || rule === "redirect" ? "" : `, body "${firstBytes}"`;
  return `${encoding}: HTTP ${httpStatus}${type}${target}${body}${rule === undefined ? ", passed" : ""}`;
}

async function refusePrivateAddress({ url, baseUrl }: PreflightOptions): Promise<void> {
  const [endpoint, service] = await Promise.all([resolveHost(url), resolveHost(baseUrl)]);
  const unreachable = endpoint.length > 0 && !endpoint.some(isPublicAddress) && service.some(isPublicAddress);
  if (!unreachable) return;
  const rule = "private_address";
  const transcript: HandshakeTranscript = {
    url: printUrl(url),
    addresses: endpoint,
    rounds: 0,
    steps: [],
    rule,
    mend: MENDS[rule],
  };
  const reason = `${endpoint.join(", ")} is a loopback or private address, which the service at ${printUrl(baseUrl)} cannot reach`;
  throw transcriptError(transcript, reason);
}

async function resolveHost(url: string): Promise<string[]> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  try {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  } catch {
    // A name that does not resolve has no address; the handshake itself reports it.
    return [];
  }
}
