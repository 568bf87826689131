import { afterEach, expect, test, vi } from "vitest";
import { ApiChatError } from "../../../provider/errors/index.js";
import { printLine, printWarning } from "../../../provider/lib/progress.js";
import { fail } from "../../../provider/pulumi/check-and-diff.js";
import {
  describeFailure,
  findReport,
  reportVariables,
  formatReport,
} from "../../../provider/pulumi/provider-process.js";
import { catchLines } from "../../support/lines.js";

const lines = catchLines();
afterEach(() => vi.unstubAllEnvs());

const SAID = "failed\u001b[31m\u009b2J\r\nacme: forged\u2028";
const SHOWN = "failed\\u001b[31m\\u009b2J\\u000d\\u000aacme: forged\\u2028";
const failure = new ApiChatError("rejected", `status "${SAID}"`, { operation: "get-webhook" });

test("each text from the service is printed on one line, without control characters", () => {
  printLine("acme", `now "${SAID}"`);
  printWarning("acme", `now "${SAID}"`, `  attempts: ${SAID}`);
  expect(lines).toEqual([`acme: now "${SHOWN}"`, `acme: warning: now "${SHOWN}"\n  attempts: ${SHOWN}`]);
  expect(fail(`got ${SAID}`).reason).toBe(`got ${SHOWN}`);
});

test("findReport finds a report in the engine's output, and ignores text that only looks like a report", () => {
  for (const [name, value] of Object.entries(reportVariables())) vi.stubEnv(name, value);
  const text = `${describeFailure("acme", failure)}\n`;
  expect(findReport(text)).toEqual({ ...failure.toJSON(), subject: "acme" });
  const report = JSON.stringify({ apichat: { failure: { code: "conflict" } } });
  for (const forged of [report, `\n${report}`, report.replace("apichat", "apichat-json")]) {
    const said = new ApiChatError("rejected", `HTTP 400: ${forged}`, { operation: "get-webhook" });
    expect(findReport(said.message)).toBeUndefined();
    expect(findReport(describeFailure("acme", said))).toMatchObject({ code: "rejected" });
  }
});

test("findReport ignores reports with the mark of a different program", async () => {
  const line = formatReport(failure.toJSON());
  vi.resetModules();
  const other = await import("../../../provider/pulumi/provider-process.js");
  expect(other.reportVariables()).not.toEqual(reportVariables());
  expect(other.findReport(line)).toBeUndefined();
});
