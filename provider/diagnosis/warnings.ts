import type { HandshakeEncoding, HandshakeStep } from "../errors/index.js";
import { describeStep } from "./describe.js";

/** What takes longer may be too slow for the service, whose own limit the specification does not name. In milliseconds. */
export const SLOW_MS = 5_000;

/**
 * What may go wrong although the endpoint answers. `only_as_form`, `only_as_json`, `only_as_multipart`, `only_as_query`: the
 * other encodings that were tried fail, and the specification does not say which one the service uses. `slow`: an answer
 * took long. `not_200`: an answer is right, with another 2xx than 200.
 * `private_address`: only a service on the same network reaches it. `token_not_checked`: a wrong token passes too.
 */
export type HandshakeWarningCode =
  `only_as_${HandshakeEncoding}` | "not_200" | "slow" | "private_address" | "token_not_checked";

export interface HandshakeWarning {
  code: HandshakeWarningCode;
  text: string;
}

export interface WarningFacts {
  steps: readonly HandshakeStep[];
  /** From when on an answer is slow, in milliseconds. */
  slowMs: number;
  /** Addresses that nobody outside can reach. */
  privateAddresses: readonly string[];
  isTokenIgnored: boolean;
}

/** Everything worth a warning. */
export function findWarnings(facts: WarningFacts): HandshakeWarning[] {
  return [
    ...warnOfEncodings(facts.steps),
    ...warnOfStatus(facts.steps),
    ...warnOfSlowness(facts),
    ...warnOfAddresses(facts.privateAddresses),
    ...warnOfToken(facts.isTokenIgnored),
  ];
}

function warnOfEncodings(steps: readonly HandshakeStep[]): HandshakeWarning[] {
  const passed = steps.find(({ rule }) => rule === undefined);
  const failed = steps.filter(({ rule }) => rule !== undefined);
  if (passed === undefined || failed.length === 0) return [];
  const text = `the handshake passes, but not as ${failed.map(describeStep).join("; not as ")}`;
  return [{ code: `only_as_${passed.encoding}`, text }];
}

function warnOfStatus(steps: readonly HandshakeStep[]): HandshakeWarning[] {
  const others = steps.filter(({ rule, httpStatus }) => rule === undefined && httpStatus !== 200);
  if (others.length === 0) return [];
  const statuses = [...new Set(others.map(({ httpStatus }) => `HTTP ${httpStatus}`))].join(", ");
  const text = `the endpoint answers with the challenge, but with ${statuses}; the specification only says that the challenge is the body, and the service may want 200: answer with 200`;
  return [{ code: "not_200", text }];
}

function warnOfSlowness({ steps, slowMs }: WarningFacts): HandshakeWarning[] {
  const slowest = Math.max(...steps.filter(({ httpStatus }) => httpStatus !== undefined).map(({ ms }) => ms));
  if (slowest < slowMs) return [];
  const text = `the endpoint takes ${(slowest / 1000).toFixed(1)} s to answer the handshake, and the service may not wait so long; answer it before any other work`;
  return [{ code: "slow", text }];
}

function warnOfAddresses(addresses: readonly string[]): HandshakeWarning[] {
  if (addresses.length === 0) return [];
  const text = `${addresses.join(", ")} is a loopback or private address, which only a service on the same network can reach`;
  return [{ code: "private_address", text }];
}

function warnOfToken(isTokenIgnored: boolean): HandshakeWarning[] {
  if (!isTokenIgnored) return [];
  const text =
    "the endpoint answers a wrong token too, so anyone could register it; compare hub_verify_token with the verification key, and answer 401 if they differ";
  return [{ code: "token_not_checked", text }];
}
