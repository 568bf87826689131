import type { ContactMessageAnswer } from "../control/shapes.js";
import { t } from "./i18n/translate.js";
import { readRefusal } from "./refusal.js";

/** The emulator did not do what it was asked; the message can be shown. */
export class ApiError extends Error {
  override readonly name = "ApiError";
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Values that are undefined are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

/** The address of a route of the control API, relative to the page. Every segment is encoded. */
export function routeOf(segments: readonly string[], query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value);
  const search = parameters.size === 0 ? "" : `?${parameters}`;
  return `./${segments.map(encodeURIComponent).join("/")}${search}`;
}

/**
 * Calls the control API and gives its JSON; undefined for an answer without a body. The body is given as JSON text, so
 * that no number loses digits. Throws {@link ApiError} with a text in the page's language, or the emulator's own.
 */
export async function call<Answer>(method: Method, route: string, body?: string): Promise<Answer> {
  const response = await request(method, route, body);
  const text = await response.text().catch(unreachable);
  if (!response.ok) throw new ApiError(errorTextOf(response.status, text));
  return parseAnswer(response.status, text) as Answer;
}

/** Reads with the secrets in clear, whatever the page shows. */
export function readInClear<Answer>(segments: readonly string[]): Promise<Answer> {
  return call<Answer>("GET", routeOf(segments, { reveal: "true" }));
}

function request(method: Method, route: string, body: string | undefined): Promise<Response> {
  const headers = { accept: "application/json" };
  const init: RequestInit =
    body === undefined
      ? { method, headers }
      : { method, headers: { ...headers, "content-type": "application/json" }, body };
  return fetch(route, { ...init, cache: "no-store", redirect: "error" }).catch(unreachable);
}

function unreachable(reason: unknown): never {
  const text = reason instanceof Error ? reason.message : String(reason);
  throw new ApiError(t("error.unreachable", { reason: text }), { cause: reason });
}

function parseAnswer(status: number, text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(t("error.status", { status }), { cause: error });
  }
}

/** What is said of a message that `bot_url` does not take. */
export const describeRefusal = ({ status, body }: ContactMessageAnswer): string =>
  t("compose.refused", { status, body: JSON.stringify(body) ?? "" });

function errorTextOf(status: number, text: string): string {
  const refusal = readRefusal(text);
  if (refusal === undefined) return t("error.status", { status });
  return "message" in refusal ? refusal.message : describeRefusal(refusal);
}
