import type { SentMessage } from "../contact.js";
import type { ControlError } from "../control/shapes.js";
import { parseJson } from "./json.js";
import { revealed } from "./store.js";

type Query = Readonly<Record<string, string>>;

/** The address of a route of the control API, relative to the page. Every segment is encoded. */
function routeOf(segments: readonly string[], query?: Query): string {
  const search = query === undefined ? "" : `?${new URLSearchParams(query)}`;
  return `./${segments.map(encodeURIComponent).join("/")}${search}`;
}

/** The address of a route whose data the page shows. The data's secrets are masked, unless `revealed` is true. */
export const shownRouteOf = (segments: readonly string[], query?: Query): string =>
  routeOf(segments, { ...query, ...(revealed.value && { reveal: "true" }) });

/** Reads from the control API what the page shows. Throws an error whose message can be shown. */
export const read = <Answer>(segments: readonly string[], query?: Query): Promise<Answer> =>
  request<Answer>("GET", shownRouteOf(segments, query), null);

/** Sends a change to the control API. A string is sent unchanged: it is JSON that may contain unsafe integers. */
export function send<Answer>(
  method: "POST" | "PATCH" | "DELETE",
  segments: readonly string[],
  body?: string | object,
): Promise<Answer> {
  const text = typeof body === "object" ? JSON.stringify(body) : body;
  return request<Answer>(method, routeOf(segments), text ?? null);
}

async function request<Answer>(method: string, route: string, body: string | null): Promise<Answer> {
  const headers = {
    accept: "application/json",
    ...(body !== null && { "content-type": "application/json" }),
  };
  const init = { method, headers, body, cache: "no-store", redirect: "error" } as const;
  const response = await fetch(route, init).catch(unreachable);
  const text = await response.text().catch(unreachable);
  const answer = parseJson(text);
  if (response.ok && (text === "" || answer !== undefined)) return answer as Answer;
  throw new Error(refusalOf(answer) ?? `Unexpected response: HTTP ${response.status}, without a reason.`);
}

/** The browser's own reason ("Failed to fetch") does not help. */
function unreachable(cause: unknown): never {
  throw new Error("No response. Is the emulator still running?", { cause });
}

/** Why a request was rejected: the emulator's message, or the response of `bot_url`. Undefined if a proxy responded. */
function refusalOf(answer: unknown): string | undefined {
  const { error, status, body } = Object(answer) as Partial<ControlError & SentMessage>;
  if (typeof error?.message === "string") return error.message;
  return typeof status === "number" ? describeRefusal({ status, body }) : undefined;
}

export const describeRefusal = ({ status, body }: SentMessage): string =>
  `bot_url responded with ${status}: ${JSON.stringify(body) ?? ""}`;
