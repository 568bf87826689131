import { randomBytes } from "node:crypto";
import vectors from "../../schema/vectors.json" with { type: "json" };
import type { HandshakeEncoding } from "../errors/index.js";
import { orAborted, NEVER } from "../lib/abort.js";
import { post, PostError } from "../lib/post.js";
import { PREFLIGHT_USER_AGENT } from "../lib/version.js";
import { signBody } from "../responder/signature.js";
import { CAUSES } from "./causes.js";
import { explainStep, SLOW_MS } from "./describe.js";
import { MAX_ANSWER_MS } from "./diagnose.js";
import { causeOfFailure, performHandshake } from "./handshake.js";

/** How much of a response is read, in bytes. */
const READ_BYTES = 4096;

/** How an endpoint took one request of `schema/vectors.json`. */
export interface EndpointCheck {
  /** The name of the request. */
  name: string;
  /** The number of the rule in docs/endpoint.md that it is about, or that the endpoint does not follow. */
  rule: number;
  /** `unsafe`: it accepts what it must reject. `wrong`: any other mistake. `skipped`: no earlier key was given. */
  result: "right" | "wrong" | "unsafe" | "skipped";
  /** What came back, such as "HTTP 401"; empty if it was skipped. */
  response: string;
  /** How to fix it; only with `wrong` and `unsafe`. */
  hint?: string;
}

/** The webhook URL to check, with its keys, and the time limits. */
export interface CheckEndpointOptions {
  /** The webhook URL. */
  url: string;
  /** The key that signs, and that the endpoint must accept. */
  verificationKey: string;
  /** A key that the endpoint accepts too, as during a rotation. Without it two checks are skipped. */
  earlierKey?: string | undefined;
  /** How long each response may take, in milliseconds. Default 10,000. */
  limitMs?: number | undefined;
  /** A response that takes this long, in milliseconds, is wrong. Default 5,000. */
  slowMs?: number | undefined;
  /** Ends it at once: rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called after each check. */
  onCheck?: ((check: EndpointCheck) => void) | undefined;
}

/**
 * Sends every handshake and delivery of `schema/vectors.json` to an endpoint, one after the other, and reports how it took
 * each: see docs/endpoint.md. The endpoint takes the genuine ones for messages of contact 7 in conversation 1. The
 * specification shows no response to a delivery (section 6.2): any 2xx counts as accepted, any 4xx as rejected.
 */
export async function checkEndpoint(options: CheckEndpointOptions): Promise<EndpointCheck[]> {
  const { url, verificationKey, earlierKey, limitMs = MAX_ANSWER_MS, slowMs = SLOW_MS } = options;
  const { signal = NEVER, onCheck } = options;
  const keys = {
    current: verificationKey,
    earlier: earlierKey,
    foreign: `${randomBytes(24).toString("hex")}世`,
  };
  const target = { url, limitMs, signal, secrets: [verificationKey, earlierKey ?? verificationKey] };
  const checks: EndpointCheck[] = [];
  /** How the first delivery fares, which is a plain one: where it fails, the others fail for the same reason. */
  let plain: EndpointCheck | undefined;
  const add = (vector: Vector, seen: Seen | undefined): void => {
    const check = judge(vector, seen, slowMs);
    if (plain?.result === "wrong" && vector.accepted && check.result === "wrong") {
      Object.assign(check, { rule: plain.rule, hint: plain.hint });
    }
    checks.push(check);
    onCheck?.(check);
  };
  for (const vector of vectors.handshakes) {
    const token = vector.token === "" ? "" : keys[vector.token as KeyName];
    add(vector, token === undefined ? undefined : await shakeHands(vector, alter(token, vector), target));
  }
  for (const vector of vectors.deliveries as DeliveryVector[]) {
    const key = keys[vector.signature?.key ?? "current"];
    add(vector, key === undefined ? undefined : await deliver(vector, key, target));
    plain ??= checks.at(-1);
  }
  return checks;
}

type KeyName = "current" | "earlier" | "foreign";

interface Vector {
  name: string;
  rule: number;
  accepted: boolean;
  hint: string;
}

interface DeliveryVector extends Vector {
  body: string;
  padTo?: number;
  contentType?: string;
  times?: number;
  signature: (Alteration & { header: string; key: KeyName; of?: string; prefix?: string }) | null;
}

/** What is sent of a token or a signature: `keep` is the end of a slice, and `suffix` comes behind it. */
interface Alteration {
  keep?: number;
  suffix?: string;
}

const alter = (text: string, { keep, suffix = "" }: Alteration): string =>
  Array.from(text).slice(0, keep).join("") + suffix;

interface Target {
  url: string;
  limitMs: number;
  signal: AbortSignal;
  secrets: string[];
}

/** What came back. */
interface Seen {
  outcome: "accepted" | "rejected" | "redirected" | "other";
  response: string;
  /** How long it took, in milliseconds. */
  ms: number;
}

function judge(
  { name, rule, accepted, hint }: Vector,
  seen: Seen | undefined,
  slowMs: number,
): EndpointCheck {
  if (seen === undefined) return { name, rule, result: "skipped", response: "" };
  const { outcome, response, ms } = seen;
  if (outcome !== (accepted ? "accepted" : "rejected")) {
    const result = outcome === "accepted" ? "unsafe" : "wrong";
    return { name, rule, result, response, hint: outcome === "redirected" ? NO_REDIRECT : hint };
  }
  if (ms < slowMs) return { name, rule, result: "right", response };
  const slow = `${response} after ${(ms / 1000).toFixed(1)} s`;
  return { name, rule: 8, result: "wrong", response: slow, hint: RESPOND_FIRST };
}

const NO_REDIRECT = "respond at the registered URL itself: the service may not follow a redirect";
const RESPOND_FIRST = "store the delivery, respond, and work later: the service may not wait this long";

async function shakeHands(
  { encoding, challenge }: { encoding: string; challenge: string },
  token: string,
  target: Target,
): Promise<Seen> {
  const step = await performHandshake({
    ...target,
    encoding: encoding as HandshakeEncoding,
    token,
    challenge,
  });
  const { httpStatus = 0, rule, ms } = step;
  const outcome = outcomeOf(httpStatus, rule === undefined ? "accepted" : "other");
  // An error page explains nothing.
  const isClear = rule === undefined || httpStatus >= 400;
  return { outcome, response: isClear ? `HTTP ${httpStatus}` : explainStep(step), ms };
}

const outcomeOf = (status: number, ofSuccess: Seen["outcome"]): Seen["outcome"] => {
  if (status >= 200 && status < 300) return ofSuccess;
  if (status >= 300 && status < 400) return "redirected";
  return status >= 400 && status < 500 ? "rejected" : "other";
};

async function deliver(vector: DeliveryVector, key: string, target: Target): Promise<Seen> {
  const { signature, times = 1, contentType = "application/json" } = vector;
  const body = pad(vector);
  const headers: Record<string, string> = {
    "user-agent": PREFLIGHT_USER_AGENT,
    "content-type": contentType,
    "x-flow-ns": "f0",
    "x-action": "messages",
  };
  if (signature !== null) {
    const value = await signBody(key, signature.of ?? body);
    headers[signature.header] = alter(value.replace("sha256=", signature.prefix ?? "sha256="), signature);
  }
  let seen: Seen = { outcome: "accepted", response: "", ms: 0 };
  for (let sent = 0; sent < times && seen.outcome === "accepted"; sent += 1)
    seen = await postOnce(body, headers, target);
  return seen;
}

/** The body with the text "x" repeated until it has the length that the vector asks for. */
const pad = ({ body, padTo = 0 }: DeliveryVector): string =>
  padTo === 0 ? body : body.replace('"x"', `"${"x".repeat(padTo - body.length + 1)}"`);

async function postOnce(
  body: string,
  headers: Record<string, string>,
  { url, limitMs: timeoutMs, signal }: Target,
): Promise<Seen> {
  const begun = performance.now();
  try {
    const options = { headers, body, limitBytes: READ_BYTES, timeoutMs, signal };
    const { status } = await orAborted(post(new URL(url), options), signal);
    const ms = performance.now() - begun;
    return { outcome: outcomeOf(status, "accepted"), response: `HTTP ${status}`, ms };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PostError)) throw error;
    const response = CAUSES[causeOfFailure(error)].finding ?? error.message;
    return { outcome: "other", response, ms: performance.now() - begun };
  }
}
