import { randomUUID } from "node:crypto";
import { fstatSync } from "node:fs";
import type { ApiChatError, Failure } from "../errors/index.js";
import { isMap, jsonOrText } from "../lib/values.js";

// Code that the lifecycles of all resources share in the engine's provider process.

const REPORT_VARIABLE = "APICHAT_REPORT";

/** Random, so that text from a service or an endpoint cannot pass itself off as a report. */
const OWN_MARK = randomUUID();

const startOfReport = (): string => `apichat-${process.env[REPORT_VARIABLE] || OWN_MARK}: `;

/** Environment variables for a program that starts the engine and reads the provider process's reports. */
export const reportVariables = (): Record<string, string> => ({
  [REPORT_VARIABLE]: process.env[REPORT_VARIABLE] || OWN_MARK,
});

export const isReportRead = (): boolean => Boolean(process.env[REPORT_VARIABLE]);

export const formatReport = (failure: Failure): string => startOfReport() + JSON.stringify(failure);

/** Finds a report of {@link formatReport} in a line, even after text that the engine has added. */
export function findReport(text: string): Failure | undefined {
  const json = text.split(startOfReport())[1]?.split("\n", 1)[0];
  const report = jsonOrText(json ?? "");
  return isMap(report) ? (report as unknown as Failure) : undefined;
}

export const describeFailure = (name: string, error: ApiChatError): string =>
  withReport(error.with({ subject: name }));

/** The text of a failure, followed by its data if a program reads reports. */
export const withReport = (error: ApiChatError): string =>
  isReportRead() ? `${error.message}\n${formatReport(error.toJSON())}` : error.message;

/** The SDK's script that the engine starts. Any other process that loads this module belongs to the user. */
const PROVIDER_SCRIPT = /[\\/]@pulumi[\\/]pulumi[\\/]cmd[\\/]dynamic-provider(?:[\\/]index\.js)?$/;

export const isProviderOfSdk = (): boolean => PROVIDER_SCRIPT.test(process.argv[1] ?? "");

/** The address of the engine that has started this provider. Flags for logs and traces may precede it. */
export const findEngineAddress = (): string | undefined =>
  process.argv.slice(2).findLast((word) => /^[^-/][^/]*:\d+$/.test(word));

/**
 * Exits this provider process when its stdin, a pipe from the engine, closes. Otherwise, the process would outlive a
 * killed engine. Its calls would then overlap with those of the next run, and each line that it prints would fail with
 * EPIPE, an error that the SDK's script would print in turn, endlessly.
 */
export function endWithStdin(): void {
  const stdin = fstatSync(0);
  if (!stdin.isFIFO() && !stdin.isSocket()) return;
  process.stdin
    .once("close", () => process.exit())
    .resume()
    .unref();
}
