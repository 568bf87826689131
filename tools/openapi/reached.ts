import type { RecordedRequest } from "pulumi-apichat/emulator";

const operations = ["get-webhook", "set-webhook", "delete-webhook", "message"];
/** Taken, refused for its key, refused for its body. */
const outcomes = ["2xx", "401", "422"];

/**
 * What a run has not reached, such as `set-webhook 422`: a run whose requests are all refused for their key would find
 * nothing wrong.
 */
export function listUnreached(requests: readonly RecordedRequest[]): string[] {
  const reached = new Set(requests.map((request) => `${operationOf(request)} ${outcomeOf(request)}`));
  return operations
    .flatMap((operation) => outcomes.map((outcome) => `${operation} ${outcome}`))
    .filter((pair) => !reached.has(pair));
}

function operationOf(request: RecordedRequest): string {
  return request.interface === "bot" ? "message" : (request.action ?? "");
}

function outcomeOf({ status = 0 }: RecordedRequest): string {
  return status >= 200 && status < 300 ? "2xx" : String(status);
}
