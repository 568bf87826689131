import { quote } from "../lib/redact.js";
import type { DeadLetter, KeptDelivery } from "../server/spool-rows.js";

const SHOWN_BODY_CHARACTERS = 200;

/** One kept delivery for scripts: times in ISO 8601; the body as text, or in base64 if it is not UTF-8. */
export function deliveryToJson(row: KeptDelivery | DeadLetter): Record<string, unknown> {
  const { id, workspace, conversation, acceptedMs, attempts, failure, dueMs, headers, body } = row;
  const text = toText(body);
  return {
    id,
    workspace,
    conversation,
    acceptedAt: toTime(acceptedMs),
    ...("buriedMs" in row && { buriedAt: toTime(row.buriedMs) }),
    attempts,
    failure,
    ...(dueMs !== undefined && { nextAttemptAt: toTime(dueMs) }),
    headers,
    ...(text === undefined ? { bodyBase64: Buffer.from(body).toString("base64") } : { body: text }),
  };
}

/** One kept delivery for people: what it is, why it is still there, and the start of its body. */
export function formatDelivery(row: KeptDelivery | DeadLetter): string {
  const { id, workspace, conversation, acceptedMs, attempts, failure, dueMs, body } = row;
  const place =
    conversation === undefined ? workspace : `${workspace}, conversation ${quote(conversation, [])}`;
  const tried = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  const next = dueMs === undefined ? "" : `; next attempt ${toTime(dueMs)}`;
  const why = failure === undefined ? "" : `\n  ${tried}: ${quote(failure, [])}${next}`;
  const start = quote(new TextDecoder().decode(body), [], SHOWN_BODY_CHARACTERS);
  return `${id}  ${toTime(acceptedMs)}  ${place}${why}\n  ${start}\n`;
}

const toTime = (ms: number): string => new Date(ms).toISOString();

function toText(body: Uint8Array): string | undefined {
  try {
    // A byte order mark is part of what was signed.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    // Not UTF-8: the caller has another way.
    return undefined;
  }
}
