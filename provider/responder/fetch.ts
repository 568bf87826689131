import { readBody } from "./body.js";
import type { Answer, IncomingRequest } from "./request.js";

/** A function that a runtime keeps alive work with, after the answer. */
export type WaitUntil = (promise: Promise<unknown>) => void;

/** Converts the web's Request. */
export function fromRequest(request: Request): IncomingRequest {
  return {
    method: request.method,
    url: request.url,
    header: (name) => request.headers.get(name) ?? undefined,
    headers: () => request.headers.entries(),
    readBody: (limitBytes) => readBody(request, limitBytes),
  };
}

/** Converts to the web's Response. */
export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body === "" ? null : body, { status, headers });
}

/** Finds `waitUntil` in what a runtime passes beside the request: Workers give it in the last argument. */
export function findWaitUntil(runtime: readonly unknown[]): WaitUntil | undefined {
  const context = runtime.findLast(
    (one): one is { waitUntil: WaitUntil } =>
      typeof one === "object" && one !== null && "waitUntil" in one && typeof one.waitUntil === "function",
  );
  return context && ((promise) => context.waitUntil(promise));
}
