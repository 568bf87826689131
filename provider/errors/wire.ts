import type { Failure } from "./failure.js";

/** What the provider process reports to a program that started its engine: a failure, or a line for people. */
export type Wire = { failure: Failure } | { note: { subject: string; text: string } };

/** Set to "json" by who reads the reports of the provider process, else they are text alone. */
export const REPORT_VARIABLE = "APICHAT_REPORT";

const START = '{"apichat":';

/** Whether the reports of this process are read by a program. */
export const isReportRead = (): boolean => process.env[REPORT_VARIABLE] === "json";

/** One line of JSON. */
export const toWireLine = (wire: Wire): string => JSON.stringify({ apichat: wire });

/** Reads the line of a text that {@link toWireLine} made, whatever the engine puts before it; undefined if there is none. */
export function findWire(text: string): Wire | undefined {
  for (const line of text.split("\n")) {
    const start = line.indexOf(START);
    const wire = start < 0 ? undefined : parse(line.slice(start));
    if (wire !== undefined) return wire;
  }
  return undefined;
}

function parse(json: string): Wire | undefined {
  try {
    return (JSON.parse(json) as { apichat: Wire }).apichat;
  } catch {
    return undefined;
  }
}
