import type { DeliveryKind, Handshake, ResponderErrorCode } from "../../provider/responder/index.js";

/** The runtimes that the contract is tested in: Node (its HTTP server, and fetch), workerd, every Lambda trigger. */
export type ContractRuntime = "node" | "fetch" | "workerd" | LambdaFront;

export type LambdaFront =
  "REST API" | "HTTP API" | "function URL" | "load balancer" | "load balancer with multi-value headers";

/** The first key of every responder under test. */
export const KEY = "key/with+signs= & é";
/** The second key, which is passed to the responder as bytes. */
export const OLD_KEY = "the key before this one";
export const FOREIGN_KEY = "a key of somebody else";

/** A request. */
export interface ContractRequest {
  /** Default: POST. */
  method?: string;
  /** Path and query. Default: /hook */
  target?: string;
  headers?: readonly (readonly [name: string, value: string])[];
  /** Default: none. */
  body?: string | Uint8Array;
  /** How the body is signed. Default: no signature. */
  signed?: {
    /** Default: {@link KEY}. */
    key?: string;
    /** The bytes to sign instead of the body. */
    body?: string | Uint8Array;
    /** Makes the signatures to send instead of the correct one. Each is sent in its own header. */
    as?: (signature: string) => readonly string[];
    /** Default: X-Hub-Signature-256. */
    header?: string;
  };
  /**
   * How the body is sent: with a length, in chunks of this many bytes, or cut off half-way. Default: with a
   * length.
   */
  transfer?: "whole" | { chunkBytes: number } | "broken off";
}

export interface ContractOptions {
  path?: string;
  bodyLimitBytes?: number;
  /** Makes the handler throw an UnavailableError. */
  isUnavailable?: boolean;
}

/** The expected response, and the expected arguments of the program's functions. */
export interface ContractExpectation {
  status: number;
  /** Required headers, in addition to those of every response of this kind. */
  headers?: Record<string, string>;
  /** The challenge, returned unchanged. */
  challenge?: string;
  handshake?: Handshake;
  code?: ResponderErrorCode;
  /** Text that the error must contain. */
  message?: RegExp;
  /** The delivery passed to `onDelivery`; its raw bytes must be the body that was sent. */
  delivery?: {
    kind: DeliveryKind;
    message: unknown;
    keyIndex?: number;
    flowNs?: string;
    action?: string;
  };
}

/** A request, and the result that it must have in every runtime that can receive it. */
export interface ContractCase {
  name: string;
  request: ContractRequest;
  options?: ContractOptions;
  expected: ContractExpectation;
  /** The runtimes that cannot receive this request. */
  cannot?: readonly (ContractRuntime | "Lambda")[];
}

export const caseOf = (
  name: string,
  expected: ContractExpectation,
  request: ContractRequest,
  more: Pick<ContractCase, "options" | "cannot"> = {},
): ContractCase => ({ name, request, expected, ...more });

/** Makes cases with the same expected result. `requests` is keyed by the name of the case. */
export const casesOf = (
  expected: ContractExpectation,
  requests: Record<string, ContractRequest>,
  more: Pick<ContractCase, "options" | "cannot"> = {},
): ContractCase[] => Object.entries(requests).map(([name, request]) => caseOf(name, expected, request, more));

/** Expects an error. */
export const rejected = (status: number, code: ResponderErrorCode, message = /./): ContractExpectation => ({
  status,
  code,
  message,
});

/** Expects a delivery to be handled. */
export const delivered = (
  kind: DeliveryKind,
  message: unknown,
  others: { keyIndex?: number; flowNs?: string; action?: string } = {},
): ContractExpectation => ({ status: 200, delivery: { kind, message, ...others } });

/** Expects a handshake whose response is its challenge. */
export const challenged = (challenge: string, handshake: Partial<Handshake> = {}): ContractExpectation => ({
  status: 200,
  challenge,
  handshake: { encoding: "form", keyIndex: 0, ...handshake },
});
