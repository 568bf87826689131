import type { ControlError } from "./shapes.js";

/** A request to the control API that is answered with an error. No secret is in its text. */
export class ControlRefusal extends Error {
  override readonly name = "ControlRefusal";
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;

  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The answer that tells of a refusal. */
export function answerRefusal({ status, code, message, headers }: ControlRefusal): Response {
  const body: ControlError = { error: { code, message } };
  return answerControl(body, { status, headers });
}

/** An answer of the control API. Nothing of it is cached: it changes, and may hold secrets. */
export function answerControl(
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Response {
  return new Response(status === 204 ? null : JSON.stringify(value), {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...headers,
    },
  });
}
