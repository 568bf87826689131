import { createHmac, randomBytes } from "node:crypto";
import vectors from "../../schema/vectors.json" with { type: "json" };
import type { HandshakeEncoding } from "../errors/index.js";
import { NEVER } from "../lib/abort.js";
import type { HandshakeFields } from "../lib/handshake-encoding.js";
import { postOnce, PostError } from "../lib/post.js";
import { PREFLIGHT_USER_AGENT } from "../lib/version.js";
import { CAUSES, FORMS_FAIL } from "./causes.js";
import { explainStep, SLOW_MS } from "./describe.js";
import { MAX_ANSWER_MS } from "./diagnose.js";
import { causeOfFailure, READ_BYTES, sendHandshake } from "./handshake.js";

/** How an endpoint handled one request of `schema/vectors.json`. */
export interface EndpointCheck {
  /** The name of the request. */
  name: string;
  /** The number of the rule in docs/guide/endpoint.md that the request tests, or that the endpoint breaks. */
  rule: number;
  /** `unsafe`: accepted, but must be rejected. `wrong`: any other mistake. `skipped`: no suitable key was given. */
  result: "right" | "wrong" | "unsafe" | "skipped";
  /** What the endpoint returned, such as "HTTP 401"; empty if the check was skipped. */
  response: string;
  /** How to fix it; only with `wrong` and `unsafe`. */
  hint?: string;
}

/** The webhook URL to check, its keys and the time limit. */
export interface CheckEndpointOptions {
  /** The webhook URL. */
  url: string;
  /** The key that signs the deliveries, and that the endpoint must accept. */
  verificationKey: string;
  /** A key that the endpoint also accepts, as during a rotation. Without it, two checks are skipped. */
  earlierKey?: string | undefined;
  /** How long each response may take, in milliseconds. Default 10,000. */
  limitMs?: number | undefined;
  /** Ends the check at once: the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Sends every handshake and delivery of `schema/vectors.json` to an endpoint, one after another, and reports
 * how it handled each: see docs/guide/endpoint.md. The endpoint treats valid deliveries as messages of contact 7
 * in conversation 1. The specification does not define the response to a delivery (section 6.2), so any 2xx
 * counts as accepted, any 4xx as rejected. A response after five seconds or more is wrong.
 */
export async function checkEndpoint(options: CheckEndpointOptions): Promise<EndpointCheck[]> {
  const { url, verificationKey, earlierKey, limitMs = MAX_ANSWER_MS, signal = NEVER } = options;
  const foreign = `${randomBytes(24).toString("hex")}世`;
  const keys = { current: verificationKey, earlier: earlierKey, foreign, empty: "" };
  const target = { url, limitMs, signal, secrets: [verificationKey, earlierKey ?? verificationKey] };
  const checks: EndpointCheck[] = [];
  /** The first check of each encoding, and of deliveries. If it fails, most later failures have the same reason. */
  const plain = new Map<string, EndpointCheck>();
  const add = (kind: string, vector: Vector, seen: Seen | undefined): void => {
    const check = judge(vector, seen);
    const first = plain.get(kind) ?? check;
    plain.set(kind, first);
    if (check.result === "wrong" && first.result === "wrong" && check.response === first.response) {
      Object.assign(check, { rule: first.rule, hint: first.hint });
    }
    checks.push(check);
  };
  for (const vector of vectors.handshakes as HandshakeVector[]) {
    const key = keys[vector.token];
    const token = key === undefined ? undefined : alter(key, vector);
    // Swapping the case of a key without letters changes nothing, so this request is skipped.
    const isSent = token !== undefined && (vector.swapCase !== true || token !== key);
    add(vector.encoding, vector, isSent ? await shakeHands(vector, { token, foreign }, target) : undefined);
  }
  for (const vector of vectors.deliveries as DeliveryVector[]) {
    const key = keys[vector.signature?.key ?? "current"];
    add("delivery", vector, key === undefined ? undefined : await deliver(vector, key, target));
  }
  return checks;
}

type KeyName = "current" | "earlier" | "foreign" | "empty";

interface Vector {
  name: string;
  rule: number;
  accepted: boolean;
  hint: string;
  contentType?: string;
}

interface HandshakeVector extends Vector, Alteration {
  encoding: HandshakeEncoding;
  token: KeyName;
  challenge: string;
  /** Sent instead of the three parameters. Texts may contain `{token}`, `{challenge}` and `{foreign}`. */
  fields?: HandshakeFields;
}

interface DeliveryVector extends Vector {
  body: string;
  padTo?: number;
  times?: number;
  /** Only a response with this body counts as accepted: it shows that the endpoint answered a handshake. */
  challenge?: string;
  signature: Signature | null;
}

interface Signature extends Alteration {
  header: string;
  key: KeyName;
  algorithm?: string;
  of?: string;
  prefix?: string;
}

/** Changes a token or signature before it is sent: only `slice(0, keep)` remains, and `suffix` is appended. */
interface Alteration {
  keep?: number;
  suffix?: string;
  swapCase?: boolean;
}

function alter(text: string, { keep, suffix = "", swapCase = false }: Alteration): string {
  const characters = Array.from(text).slice(0, keep);
  return characters.map((one) => (swapCase ? swapCaseOf(one) : one)).join("") + suffix;
}

const swapCaseOf = (character: string): string =>
  character === character.toLowerCase() ? character.toUpperCase() : character.toLowerCase();

interface Target {
  url: string;
  limitMs: number;
  signal: AbortSignal;
  secrets: string[];
}

interface Seen {
  outcome: "accepted" | "rejected" | "redirected" | "failed" | "other";
  response: string;
  ms: number;
}

function judge(vector: Vector | HandshakeVector, seen: Seen | undefined): EndpointCheck {
  const { name, rule, accepted } = vector;
  if (seen === undefined) return { name, rule, result: "skipped", response: "" };
  const { outcome, response, ms } = seen;
  if (outcome !== (accepted ? "accepted" : "rejected")) {
    const result = outcome === "accepted" ? "unsafe" : "wrong";
    return { name, rule, result, response, hint: findHint(vector, outcome) };
  }
  if (ms < SLOW_MS) return { name, rule, result: "right", response };
  const slow = `${response} after ${(ms / 1000).toFixed(1)} s`;
  return { name, rule: 8, result: "wrong", response: slow, hint: RESPOND_FIRST };
}

const NO_REDIRECT = "respond at the registered URL itself: the service may not follow a redirect";
const RESPOND_FIRST = "store the delivery, respond, then do the work: the service may not wait this long";

function findHint(vector: Vector | HandshakeVector, outcome: Seen["outcome"]): string {
  if (outcome === "redirected") return NO_REDIRECT;
  const isForm = "encoding" in vector && (vector.encoding === "form" || vector.encoding === "multipart");
  return isForm && vector.accepted && outcome === "failed" ? FORMS_FAIL : vector.hint;
}

async function shakeHands(
  { encoding, challenge, contentType, fields }: HandshakeVector,
  { token, foreign }: { token: string; foreign: string },
  target: Target,
): Promise<Seen> {
  const texts: Record<string, string> = { token, challenge, foreign };
  const fill = (value: unknown): unknown =>
    typeof value === "string" ? value.replace(/\{(\w+)\}/g, (_, name: string) => texts[name] ?? "") : value;
  const step = await sendHandshake({
    ...target,
    // An endpoint may echo what it received.
    secrets: [...target.secrets, token],
    encoding,
    token,
    challenge,
    fields: fields?.map(([name, value]) => [name, fill(value)]),
    headers: contentType === undefined ? {} : { "content-type": contentType },
  });
  const { httpStatus = 0, rule, ms } = step;
  const outcome = outcomeOf(httpStatus, rule === undefined ? "accepted" : "other");
  // The status of an error is clear enough without its body.
  const isClear = rule === undefined || httpStatus >= 400;
  return { outcome, response: isClear ? `HTTP ${httpStatus}` : explainStep(step), ms };
}

const outcomeOf = (status: number, ofSuccess: Seen["outcome"]): Seen["outcome"] => {
  if (status >= 200 && status < 300) return ofSuccess;
  if (status >= 300 && status < 400) return "redirected";
  if (status >= 400 && status < 500) return "rejected";
  return status >= 500 ? "failed" : "other";
};

async function deliver(vector: DeliveryVector, key: string, target: Target): Promise<Seen> {
  const { signature, times = 1, contentType = "application/json", challenge } = vector;
  const body = pad(vector);
  const headers: Record<string, string> = {
    "user-agent": PREFLIGHT_USER_AGENT,
    "content-type": contentType,
    "x-flow-ns": "f0",
    "x-action": "messages",
  };
  if (signature !== null) {
    const { header, algorithm = "sha256", prefix = `${algorithm}=`, of = body } = signature;
    const hex = createHmac(algorithm, key).update(of).digest("hex");
    headers[header] = alter(prefix + hex, signature);
  }
  let seen: Seen = { outcome: "accepted", response: "", ms: 0 };
  for (let sent = 0; sent < times && seen.outcome === "accepted"; sent += 1)
    seen = await sendToTarget({ body, headers, challenge }, target);
  return seen;
}

const pad = ({ body, padTo = 0 }: DeliveryVector): string =>
  padTo === 0 ? body : body.replace('"x"', `"${"x".repeat(padTo - body.length + 1)}"`);

async function sendToTarget(
  request: { body: string; headers: Record<string, string>; challenge: string | undefined },
  { url, limitMs: timeoutMs, signal }: Target,
): Promise<Seen> {
  const begun = performance.now();
  try {
    const { challenge, ...sent } = request;
    const options = { ...sent, limitBytes: READ_BYTES, timeoutMs, signal };
    const { status, body } = await postOnce(new URL(url), options);
    const ms = performance.now() - begun;
    const isAccepted = challenge === undefined || body.equals(Buffer.from(challenge));
    return {
      outcome: outcomeOf(status, isAccepted ? "accepted" : "rejected"),
      response: `HTTP ${status}`,
      ms,
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PostError)) throw error;
    const response = CAUSES[causeOfFailure(error)].finding ?? error.message;
    return { outcome: "other", response, ms: performance.now() - begun };
  }
}
