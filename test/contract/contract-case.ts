import type { DeliveryKind, Handshake, ResponderErrorCode } from "../../provider/responder/index.js";

/** Where the contract is kept: two forms in Node, workerd, and what each front of a Lambda function hands over. */
export type ContractRuntime = "node" | "fetch" | "workerd" | LambdaFront;

export type LambdaFront =
  "REST API" | "HTTP API" | "function URL" | "load balancer" | "load balancer with multi-value headers";

/** The first key of every responder under test. */
export const KEY = "key/with+signs= & é";
/** The second key, which the responder gets as bytes. */
export const OLD_KEY = "the key before this one";
export const FOREIGN_KEY = "a key of somebody else";

/** What a sender writes. */
export interface ContractRequest {
  /** Default: POST. */
  method?: string;
  /** Path and query. Default: /hook */
  target?: string;
  headers?: readonly (readonly [name: string, value: string])[];
  /** Default: none. */
  body?: string | Uint8Array;
  /** Signs the body. Default: no signature at all. */
  signed?: {
    /** Default: {@link KEY}. */
    key?: string;
    /** What is signed in place of the body. */
    body?: string | Uint8Array;
    /** Turns the right signature into the values that are sent, each in a header of its own. */
    as?: (signature: string) => readonly string[];
    /** Default: X-Hub-Signature-256. */
    header?: string;
  };
  /** How the body travels: with a length, in chunks of so many bytes, or broken off half-way. Default: with a length. */
  transfer?: "whole" | { chunkBytes: number } | "broken off";
}

export interface ContractOptions {
  path?: string;
  bodyLimitBytes?: number;
  /** Whether the handler throws an UnavailableError. */
  isUnavailable?: boolean;
}

/** What comes back, and what the program was given. */
export interface ContractExpectation {
  status: number;
  /** Headers that must be there, beside those that belong to every answer of the kind. */
  headers?: Record<string, string>;
  /** The challenge that is given back, as it is. */
  challenge?: string;
  handshake?: Handshake;
  code?: ResponderErrorCode;
  /** What the error must say. */
  message?: RegExp;
  /** What `onDelivery` got; the raw bytes must be the body that was sent. */
  delivery?: {
    kind: DeliveryKind;
    message: unknown;
    keyIndex?: number;
    flowNs?: string;
    action?: string;
  };
}

/** One case of the contract: the same request has the same outcome in every runtime in which it can exist. */
export interface ContractCase {
  name: string;
  request: ContractRequest;
  options?: ContractOptions;
  expected: ContractExpectation;
  /** Where it cannot exist. */
  cannot?: readonly (ContractRuntime | "Lambda")[];
}

export const caseOf = (
  name: string,
  expected: ContractExpectation,
  request: ContractRequest,
  more: Pick<ContractCase, "options" | "cannot"> = {},
): ContractCase => ({ name, request, expected, ...more });

/** Cases of one expectation, by their names. */
export const casesOf = (
  expected: ContractExpectation,
  requests: Record<string, ContractRequest>,
  more: Pick<ContractCase, "options" | "cannot"> = {},
): ContractCase[] => Object.entries(requests).map(([name, request]) => caseOf(name, expected, request, more));

/** Expects an error. */
export const rejected = (
  status: number,
  code: ResponderErrorCode,
  message?: RegExp,
): ContractExpectation => ({
  status,
  code,
  ...(message === undefined ? {} : { message }),
});

/** Expects a delivery to be handled. */
export const delivered = (
  kind: DeliveryKind,
  message: unknown,
  others: { keyIndex?: number; flowNs?: string; action?: string } = {},
): ContractExpectation => ({ status: 200, delivery: { kind, message, ...others } });

/** Expects a handshake to be answered with its challenge. */
export const challenged = (challenge: string, handshake: Partial<Handshake> = {}): ContractExpectation => ({
  status: 200,
  challenge,
  handshake: { url: "/hook", encoding: "form", keyIndex: 0, ...handshake },
});
