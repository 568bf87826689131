import { describe, expect, test } from "vitest";
import { toFailure } from "../../../../provider/fleet/failure-texts.js";
import type { Failure } from "../../../../provider/fleet/reports.js";
import { renderReport } from "../../../../provider/fleet/render/report.js";
import { fleetReport, stackReport } from "../../../support/fleet-reports.js";

const stopped = fleetReport({
  outcome: "stopped",
  stoppedBy: "2 failures, the most allowed; raise --stop-after-failures to go further",
  failures: [
    { workspace: "acme", stack: "production-0-of-2", message: "HTTP 401\nsecond line" },
    { workspace: "globex", stack: "production-0-of-2", message: "HTTP 401\nanother second line" },
    { stack: "production-1-of-2", message: "the engine ended" },
  ],
  skipped: [
    { stack: "production-2-of-2", workspaces: 15, why: "stopped" },
    { stack: "production-3-of-2", workspaces: 15, why: "done-before" },
  ],
});

const failAt = (at: string, where: { workspace: string; stack: string }): Failure =>
  toFailure(
    {
      code: "unauthorized",
      operation: "get-webhook",
      summary: `get-webhook at ${at}: HTTP 401`,
      facts: { at },
      hints: [{ id: "give_api_key" }],
      attempts: 1,
      httpStatus: 401,
    },
    where,
  );

describe("the summary of a run", () => {
  test("is a table of stacks with the sum, and the calls to the service", () => {
    expect(renderReport(fleetReport(), "text")).toBe(`Fleet production, up: done in 12 s

STACK              OUTCOME  CREATED  UPDATED  DELETED  SAME  DRIFTED  FAILED  SECONDS
production-0-of-2  done     3        0        0        1     0        0       2.0
production-1-of-2  done     0        2        0        0     0        0       2.0
total                       3        2        0        1     0        0       12.3

Calls to the service: 12 get-webhook, 5 set-webhook; 1 answer with HTTP 429.
`);
  });

  test("groups what failed for the same reason, and says what to do next, in the words of the command line", () => {
    expect(renderReport(stopped, "text", { program: "node my-fleet.ts" }))
      .toBe(`Fleet production, up: stopped in 12 s

STACK              OUTCOME      CREATED  UPDATED  DELETED  SAME  DRIFTED  FAILED  SECONDS
production-0-of-2  done         3        0        0        1     0        0       2.0
production-1-of-2  done         0        2        0        0     0        0       2.0
production-2-of-2  not begun
production-3-of-2  done before
total                           3        2        0        1     0        3       12.3

FAILED        STACK              WHY
acme, globex  production-0-of-2  HTTP 401
the stack     production-1-of-2  the engine ended

Calls to the service: 12 get-webhook, 5 set-webhook; 1 answer with HTTP 429.
Stopped: 2 failures, the most allowed; raise --stop-after-failures to go further.
Not begun: 1 stack with 15 workspaces.
When it is fixed, this does what is left: node my-fleet.ts up --resume
`);
  });

  test("makes one row of failures that differ in the name and the path alone, in whatever stack, and cuts the names", () => {
    const failures = Array.from({ length: 23 }, (_, index) =>
      failAt(`https://platform.example/w${index}/apichat`, {
        workspace: `w${index}`,
        stack: `s${index % 5}`,
      }),
    );
    const other = failAt("https://other.example/w0", { workspace: "w0", stack: "s0" });
    const shown = renderReport(fleetReport({ outcome: "failed", failures: [...failures, other] }), "text");
    const rows = shown.split("\n").filter((line) => line.includes("HTTP 401"));
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(
      /^w0, w1, .*, w19 and 3 more +s0, s1, s2 and 2 more +get-webhook at https:\/\/platform\.example: HTTP 401 \(unauthorized\)$/,
    );
    expect(rows[1]?.trimEnd()).toMatch(/get-webhook at https:\/\/other\.example\/w0: HTTP 401$/);
  });

  test.each([
    ["up", "up --resume"],
    ["rotate", "rotate --resume"],
    ["refresh", "refresh"],
    ["destroy", "destroy"],
  ] as const)("of %s without a failure goes on with %s", (action, command) => {
    const shown = renderReport(fleetReport({ action, outcome: "stopped" }), "text");
    expect(shown.trimEnd().split("\n").at(-1)).toBe(`To go on: node fleet.ts ${command}`);
  });

  test("lets nothing foreign drive a terminal, or add a line to it", () => {
    const failures = [{ workspace: "a\u001b[2J", stack: "s\r\u009b", message: "x\u2028y\u202ez" }];
    const shown = renderReport(fleetReport({ outcome: "failed", failures }), "text");
    expect(shown.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Zl}\p{Bidi_Control}]/u);
    expect(shown).toContain("a\\u001b[2J  s\\u000d\\u009b  x\\u2028y\\u202ez\n");
  });

  test("lets nothing foreign be markup, a link, a mention or a cell in Markdown", () => {
    const message = "`|` | <img src=x> | [a](https://evil.example) @everyone\n\n# head";
    const failures = [{ workspace: "acme|x", stack: "<b>", message }];
    const shown = renderReport(fleetReport({ outcome: "failed", failures }), "markdown");
    const row = shown.split("\n").find((line) => line.includes("img"));
    expect(row).toBe(
      "| <code>acme&#124;x</code> | `<b>` | " +
        "<code>&#96;&#124;&#96; &#124; &#60;img src&#61;x&#62; &#124; &#91;a&#93;&#40;https&#58;&#47;&#47;evil&#46;example&#41; &#64;everyone</code> |",
    );
    expect(shown).not.toContain("# head");
  });

  test("escapes in Markdown what stands in a sentence", () => {
    const shown = renderReport(
      fleetReport({ outcome: "stopped", stoppedBy: "a_b <i>*c* [d]|`e`\nf" }),
      "markdown",
    );
    expect(shown).toContain("\nStopped: a\\_b \\<i\\>\\*c\\* \\[d\\]\\|\\`e\\`\\\\u000af.\n");
  });

  test("shows a hundred stacks, those with trouble first, and says how many more there are", () => {
    const stacks = Array.from({ length: 103 }, (_, index) => stackReport(`stack-${index}`, { same: 1 }));
    stacks[102] = stackReport("troubled", {}, { outcome: "failed" });
    const report = fleetReport({ stacks, outcome: "failed" });
    for (const format of ["text", "markdown"] as const) {
      const shown = renderReport(report, format);
      expect(shown).toMatch(/\nand 3 more stacks\n/);
      expect(shown.match(/stack-\d+/g)).toHaveLength(99);
      expect(shown.indexOf("troubled")).toBeLessThan(shown.indexOf("stack-0"));
      expect(shown).not.toContain("stack-99");
    }
    expect(renderReport(report, "json")).toContain("stack-99");
  });
});
