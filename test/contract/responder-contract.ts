import { describe, expect, it, vi } from "vitest";
import { createResponder, UnavailableError } from "../../provider/responder/index.js";
import type { Delivery, Handshake, Responder } from "../../provider/responder/index.js";
import { bodyCases } from "./cases/bodies.ts";
import { handshakeCases } from "./cases/handshakes.ts";
import { headCases } from "./cases/heads.ts";
import { messageCases } from "./cases/messages.ts";
import { signatureCases } from "./cases/signatures.ts";
import {
  KEY,
  OLD_KEY,
  type ContractCase,
  type ContractExpectation,
  type ContractOptions,
  type ContractRequest,
  type ContractRuntime,
} from "./contract-case.ts";

/** A request with every default filled in. */
export interface SentRequest {
  method: string;
  target: string;
  headers: readonly (readonly [name: string, value: string])[];
  body: Uint8Array;
  transfer: NonNullable<ContractRequest["transfer"]>;
}

/** A response, with header names in lower case. */
export interface ReceivedAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends a request to a responder in one runtime. */
export type Send = (responder: Responder, request: SentRequest) => Promise<ReceivedAnswer>;

const CASES: readonly ContractCase[] = [
  ...signatureCases,
  ...handshakeCases,
  ...bodyCases,
  ...messageCases,
  ...headCases,
];

const encoder = new TextEncoder();
const toBytes = (body: string | Uint8Array): Uint8Array =>
  typeof body === "string" ? encoder.encode(body) : body;

/** Tests a runtime with every case whose request it can receive. */
export function describeResponderContract(runtime: ContractRuntime, send: Send): void {
  const kind = ["node", "fetch", "workerd"].includes(runtime) ? runtime : "Lambda";
  const cases = CASES.filter(({ cannot = [] }) => !cannot.includes(runtime) && !cannot.includes(kind));

  describe(`the responder's contract (${runtime})`, () => {
    it.each(cases)("$name", async ({ request, options = {}, expected }) => {
      const logged = vi.spyOn(console, "error").mockClear();
      const { responder, deliveries, handshakes } = createObserved(options);
      const sent = await toSent(request);
      const answer = await send(responder, sent);
      expectAnswer(answer, expected);
      expect(deliveries).toEqual(expectedDeliveries(expected, sent));
      expect(handshakes).toEqual(expected.handshake ? [expected.handshake] : []);
      expect(logged).not.toHaveBeenCalled();
    });
  });
}

function createObserved({ isUnavailable = false, ...options }: ContractOptions) {
  const deliveries: Delivery[] = [];
  const handshakes: Handshake[] = [];
  const responder = createResponder({
    ...options,
    verificationKeys: [KEY, encoder.encode(OLD_KEY)],
    onDelivery(delivery) {
      if (isUnavailable) throw new UnavailableError("full", { retryAfterSeconds: 7 });
      deliveries.push(delivery);
    },
    onHandshake: (handshake) => void handshakes.push(handshake),
  });
  return { responder, deliveries, handshakes };
}

async function toSent(request: ContractRequest): Promise<SentRequest> {
  const { method = "POST", target = "/hook", headers = [], signed, transfer = "whole" } = request;
  const body = toBytes(request.body ?? "");
  const { key = KEY, as = (signature: string) => [signature], header = "X-Hub-Signature-256" } = signed ?? {};
  const signature = await computeSignature(key, toBytes(signed?.body ?? body));
  const signatures = signed === undefined ? [] : as(signature).map((value) => [header, value] as const);
  return { method, target, headers: [...headers, ...signatures], body, transfer };
}

/** Signs with WebCrypto, as section 5 specifies, instead of using the code under test. */
async function computeSignature(key: string, body: Uint8Array): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", encoder.encode(key), algorithm, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", imported, new Uint8Array(body)));
  return `sha256=${Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function expectAnswer({ status, headers, body }: ReceivedAnswer, expected: ContractExpectation): void {
  const seen = { status, headers, body: expected.code === undefined ? body : parseOrKeep(body) };
  expect(seen).toEqual({
    status: expected.status,
    headers: expect.objectContaining({ ...headersOf(expected), ...expected.headers }) as unknown,
    body: bodyOf(expected),
  });
  for (const key of [KEY, encodeURIComponent(KEY), OLD_KEY]) expect(body).not.toContain(key);
}

function bodyOf({ code, message = /./, challenge, delivery }: ContractExpectation): unknown {
  if (challenge !== undefined) return challenge;
  if (delivery !== undefined) return "";
  if (code === undefined) return expect.any(String) as unknown;
  return { error: { code, message: expect.stringMatching(message) as string } };
}

function parseOrKeep(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // Returns a body that is not JSON unchanged, so that the failed assertion shows it.
    return body;
  }
}

/** The headers that every response of this kind has. */
function headersOf({ code, challenge }: ContractExpectation): Record<string, string> {
  const nosniff = { "x-content-type-options": "nosniff" };
  if (challenge !== undefined) return { "content-type": "text/plain; charset=utf-8", ...nosniff };
  return code === undefined ? {} : { "content-type": "application/json", ...nosniff };
}

function expectedDeliveries({ delivery }: ContractExpectation, sent: SentRequest): unknown[] {
  if (delivery === undefined) return [];
  const unsaid = { keyIndex: 0, flowNs: undefined, action: undefined };
  const rawBody = expect.toSatisfy(
    (raw: unknown) => raw instanceof Uint8Array && isSame(raw, sent.body),
  ) as Uint8Array;
  return [{ ...unsaid, ...delivery, rawBody }];
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);
