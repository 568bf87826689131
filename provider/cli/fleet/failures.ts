import { renderFailure } from "../../errors/index.js";
import type { FleetFailure } from "../../fleet/index.js";

/** The first line of a message: longer text does not fit into a table. */
const firstLine = (text: string): string => text.trim().split(/\r?\n/, 1)[0] ?? "";

/** A failure in one line, without the hint about where an API key comes from, which is too long for a table. */
export function lineOf({ message, error }: FleetFailure): string {
  if (error === undefined) return firstLine(message);
  const hints = error.hints.filter(({ id }) => id !== "give_api_key");
  return firstLine(renderFailure({ ...error, hints }, "fleet"));
}

/** What failures with the same cause have in common, such as "get-webhook at https://platform.example: HTTP 401". */
export function describeCause({ message, error }: FleetFailure): string {
  // If arguments are wrong, only the message says what is wrong; the code is always the same.
  if (error === undefined || error.problems) return firstLine(message);
  const { operation, code, httpStatus, facts, transcript } = error;
  const origin = URL.parse(facts.at ?? "")?.origin ?? "";
  const what =
    httpStatus === undefined ? (facts.connection ?? transcript?.cause ?? code) : `HTTP ${httpStatus}`;
  return `${operation}${origin === "" ? "" : ` at ${origin}`}: ${what}${what === code ? "" : ` (${code})`}`;
}

/** Groups failures that differ only in the workspace. The groups are in the order of their first failures. */
export const groupFailures = (failures: readonly FleetFailure[]): FleetFailure[][] => [
  ...Map.groupBy(failures, causeOf).values(),
];

/** A key that is equal for failures with the same cause. The failures of stacks and of workspaces never share a key. */
export function causeOf(failure: FleetFailure): string {
  const { workspace, error } = failure;
  const hints = error?.hints.map(({ id }) => id) ?? [];
  return JSON.stringify([workspace === undefined, error?.code, describeCause(failure), hints]);
}
