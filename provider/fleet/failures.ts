import { renderFailure, type Failure as ErrorData } from "../errors/index.js";
import type { Failure } from "./reports.js";

/** What the first line says is all that a table or a live line has room for. */
const firstLine = (text: string): string => text.trim().split(/\r?\n/, 1)[0] ?? "";

/** A failure that the provider, or a call of this process, has reported as data. */
export const toFailure = (error: ErrorData, where: Pick<Failure, "stack" | "workspace">): Failure => {
  const { subject: _, ...bare } = error;
  return { ...where, message: renderFailure(bare, "fleet"), error: bare };
};

/** A failure in one line. Where the API key comes from is a sentence too long for a table. */
export function lineOf({ message, error }: Failure): string {
  if (error === undefined) return firstLine(message);
  const hints = error.hints.filter(({ id }) => id !== "give_api_key");
  return firstLine(renderFailure({ ...error, hints }, "fleet"));
}

/** What failures of one cause share, without the workspace: such as "get-webhook at https://platform.example: HTTP 401". */
export function describeCause({ message, error }: Failure): string {
  if (error === undefined) return firstLine(message);
  const { operation, code, httpStatus, facts, transcript } = error;
  const origin = originOf(facts.at);
  const what =
    httpStatus === undefined ? (facts.connection ?? transcript?.cause ?? code) : `HTTP ${httpStatus}`;
  return `${operation}${origin === "" ? "" : ` at ${origin}`}: ${what}${what === code ? "" : ` (${code})`}`;
}

const originOf = (at = ""): string => URL.parse(at)?.origin ?? "";

/** Does something with a stack; gives why it failed. */
export async function failureOf(stack: string, work: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { stack, message: error instanceof Error ? error.message : String(error) };
  }
}

/** Failures that are the same but for the workspace, in the order of the first of each. */
export const groupFailures = <F extends Failure>(failures: readonly F[]): F[][] => [
  ...Map.groupBy(failures, causeOf).values(),
];

/** The same for failures of one cause. What concerns a whole stack is no failure of a workspace. */
export function causeOf(failure: Failure): string {
  const { workspace, error } = failure;
  const hints = error?.hints.map(({ id }) => id) ?? [];
  return JSON.stringify([workspace === undefined, error?.code, describeCause(failure), hints]);
}
