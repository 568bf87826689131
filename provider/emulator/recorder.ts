import type { HttpRequest } from "./http-server.js";
import type { RecordedRequest } from "./records.js";

/** Records a request as it comes in; who answers it fills in what is not known yet. */
export function recordRequest(
  requests: RecordedRequest[],
  to: RecordedRequest["interface"],
  { method, address, headers, body }: HttpRequest,
): RecordedRequest {
  const record: RecordedRequest = {
    at: new Date(),
    interface: to,
    workspace: undefined,
    action: address.searchParams.get("action") ?? undefined,
    method,
    path: `${address.pathname}${address.search}`,
    headers,
    body: parseOrKeep(body),
    status: undefined,
    fault: undefined,
  };
  requests.push(record);
  return record;
}

function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
