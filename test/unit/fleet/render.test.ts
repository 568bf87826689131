import { describe, expect, test } from "vitest";
import { toFailure } from "../../../provider/fleet/failure-texts.js";
import type { FleetPlan } from "../../../provider/fleet/plan.js";
import { renderDrift } from "../../../provider/fleet/render/drift.js";
import { renderPlan } from "../../../provider/fleet/render/plan.js";
import { renderReport } from "../../../provider/fleet/render/report.js";
import { renderRotation } from "../../../provider/fleet/render/rotation.js";
import type { Failure } from "../../../provider/fleet/reports.js";
import type { RotationReport } from "../../../provider/fleet/rotation.js";
import type { DriftReport } from "../../../provider/fleet/watch.js";
import { fleetPlan, fleetReport, stackReport } from "../../support/fleet-reports.js";

describe("a plan", () => {
  test("names each stack, the sum, what is registered where webhooks would be created, and who left the list", () => {
    expect(renderPlan(fleetPlan(), "text")).toBe(`Plan of the fleet production: done in 3.2 s

STACK              PLAN  CREATE  UPDATE  DELETE  SAME  FAILURES
production-0-of-2  done  3       0       0       1     0
production-1-of-2  done  0       2       1       0     0
total                    3       2       1       1     0

To be created: 1 free, 1 adopted (your URL stands there), 1 taken by another URL, 0 unknown.
Which one it is: apichat webhook plan --file LIST
1 workspace left the list and would lose the webhook: initech
Calls to the service: 3 get-webhook; 0 answers with HTTP 429.
`);
  });

  const removals = Array.from({ length: 23 }, (_, index) => `workspace-${index}`);
  const unknown: Partial<FleetPlan> = {
    outcome: "failed",
    creates: { free: 0, adopted: 0, taken: 0, unknown: 16 },
    unknownReasons: [
      { reason: "unauthorized (HTTP 401)", code: "unauthorized", count: 12 },
      { reason: "unavailable (HTTP 503)", code: "unavailable", count: 2 },
      { reason: "timeout", code: "timeout", count: 1 },
      { reason: "protocol (HTTP 200)", code: "protocol", count: 1 },
    ],
  };
  const others: FleetPlan["others"] = [
    { kind: "key", change: "create", count: 12 },
    { kind: "responder", change: "create", count: 3 },
    { kind: "other resource", change: "delete", count: 1 },
  ];

  test.each<[string, Partial<FleetPlan>, string]>([
    [
      "the three most frequent reasons why it is unknown what is registered",
      unknown,
      "16 unknown: 12 unauthorized (HTTP 401), 2 unavailable (HTTP 503), 1 timeout and 1 other reason.\n",
    ],
    [
      "what to do about a refused key",
      unknown,
      "The service refuses an API key, so up would fail. Give the key of today as APICHAT_API_KEY, or as apiKey or apiKeyEnv in the list, then: node prod.ts plan\n",
    ],
    [
      "what changes besides the webhooks, by kind",
      { others },
      "Besides the webhooks: 12 keys, 3 responders to create; 1 other resource to delete.\n",
    ],
    ["that the index stack is stale", { index: "stale" }, "The index stack is stale: up writes it.\n"],
    [
      "what somebody else has taken over, and where it is named",
      { takenOver: 2 },
      "2 workspaces taken over by somebody else: up fails there. Which: node prod.ts watch",
    ],
    [
      "the first twenty who left the list, and how many more there are",
      { removals },
      "workspace-18, workspace-19 and 3 more\n",
    ],
  ])("says %s", (_, more, line) => {
    expect(renderPlan(fleetPlan(more), "text", { program: "node prod.ts" })).toContain(line);
    const plan = fleetPlan(more);
    expect(JSON.parse(renderPlan(plan, "json"))).toEqual(plan);
  });

  test("skips what does not apply", () => {
    const totals = { create: 0, update: 0, delete: 0, same: 7 };
    expect(renderPlan(fleetPlan({ totals, removals: [] }), "text")).not.toMatch(
      /To be created|left the list|Besides|stale|refuses|taken over/,
    );
  });
});

const failAt = (at: string, workspace: string, stack: string): Failure =>
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
    { workspace, stack },
  );

describe("the summary of a run", () => {
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
      failAt(`https://platform.example/w${index}/apichat`, `w${index}`, `s${index % 5}`),
    );
    const other = failAt("https://other.example/w0", "w0", "s0");
    const shown = renderReport(fleetReport({ outcome: "failed", failures: [...failures, other] }), "text");
    const rows = shown.split("\n").filter((line) => line.includes("HTTP 401"));
    expect(rows.map((row) => row.trimEnd())).toEqual([
      expect.stringMatching(
        /^w0, w1, .*, w19 and 3 more +s0, s1, s2 and 2 more +get-webhook at https:\/\/platform\.example: HTTP 401 \(unauthorized\)$/,
      ),
      expect.stringMatching(/get-webhook at https:\/\/other\.example\/w0: HTTP 401$/),
    ]);
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
    const stoppedBy = "a_b <i>*c* [d]|`e`\nf";
    const shown = renderReport(fleetReport({ outcome: "stopped", failures, stoppedBy }), "markdown");
    expect(shown.split("\n").find((line) => line.includes("img"))).toBe(
      "| <code>acme&#124;x</code> | `<b>` | " +
        "<code>&#96;&#124;&#96; &#124; &#60;img src&#61;x&#62; &#124; &#91;a&#93;&#40;https&#58;&#47;&#47;evil&#46;example&#41; &#64;everyone</code> |",
    );
    expect(shown).not.toContain("# head");
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

test("a rotation shows its waves, who has which key, and then what a run shows", () => {
  const failure = { workspace: "acme", stack: "production-1-of-4", message: "no answer" };
  const stoppedBy = "wave 2 of 3 failed, so no later one was begun";
  const report: RotationReport = {
    ...fleetReport({ action: "rotate", outcome: "failed", stoppedBy }),
    rotation: "2026-12",
    waves: [
      { stacks: ["production-0-of-4"], outcome: "done", rotated: 4, failures: [] },
      {
        stacks: ["production-1-of-4", "production-2-of-4"],
        outcome: "failed",
        rotated: 1,
        failures: [failure],
      },
      { stacks: ["production-3-of-4"], outcome: "stopped", rotated: 0, failures: [] },
    ],
    keys: { new: ["a", "b", "c", "d", "e"], old: ["f"], unsure: ["acme"] },
  };
  const shown = renderRotation(report, "text");
  expect(shown).toContain(`Rotation 2026-12 of the fleet production

WAVE  OUTCOME   ROTATED  FAILURES  STACKS
1     verified  4        0         production-0-of-4
2     failed    1        1         production-1-of-4, production-2-of-4
3     stopped   0        0         production-3-of-4

Keys: 5 new, 1 old (still accepted), 1 unsure: acme

Fleet production, rotate: failed in 12 s

STACK `);
  expect(shown).toContain(`\nStopped: ${stoppedBy}.\nTo go on: node fleet.ts rotate --resume\n`);
  const note = "Every workspace had the key of rotation 2026-12 already: nothing was changed";
  expect(renderRotation({ ...report, note }, "markdown")).toContain(`\n${note}.\n`);
});

const driftReport = (more: Partial<DriftReport> = {}): DriftReport => ({
  fleet: "production",
  checkedAt: "2026-11-21T22:00:00.000Z",
  seconds: 4,
  outcome: "drift",
  checked: 60,
  others: [],
  failures: [],
  skipped: [],
  calls: { "get-webhook": 60 },
  answers429: 0,
  workspaces: [],
  ...more,
});

describe("the report of a drift watch", () => {
  const place = { workspace: "acme", stack: "s", repair: "up" };

  test("names workspace, property, both values and the repair; never a key", () => {
    const workspaces: DriftReport["workspaces"] = [
      {
        ...place,
        kind: "changed",
        properties: [
          { property: "webhookUrl", expected: "https://chat.example/a", actual: "https://old.example/a" },
          { property: "webhookVerificationKey", expected: "the key", actual: "other key" },
        ],
      },
      { ...place, workspace: "globex", kind: "gone", properties: [] },
    ];
    expect(renderDrift(driftReport({ workspaces }), "markdown")).toBe(`## Fleet production: drift

60 workspaces checked in 4 s, at 2026-11-21T22:00:00.000Z; 2 with drift.

| Workspace | Stack | Property | Expected | Actual | Repair |
| --- | --- | --- | --- | --- | --- |
| \`acme\` | \`s\` | \`webhookUrl\` | \`https://chat.example/a\` | \`https://old.example/a\` | up |
| \`acme\` | \`s\` | \`webhookVerificationKey\` | \\[secret\\] | \\[secret\\] | up |
| \`globex\` | \`s\` | webhook | registered | nothing is registered | up |

Calls to the service: 60 get-webhook; 0 answers with HTTP 429.
`);
  });

  test("names a takeover once, with both URLs, whatever else differs", () => {
    const properties: DriftReport["workspaces"][number]["properties"] = [
      { property: "webhookUrl", expected: "https://chat.example/a", actual: "https://else.example/a" },
      { property: "webhookVerificationKey", expected: "[secret]", actual: "[secret]" },
      { property: "status", expected: "verified", actual: "failed" },
    ];
    const workspaces: DriftReport["workspaces"] = [{ ...place, kind: "taken-over", properties }];
    const shown = renderDrift(driftReport({ workspaces }), "text");
    expect(shown.split("\n").filter((line) => line.startsWith("acme"))).toEqual([
      "acme       s      webhook   https://chat.example/a  https://else.example/a with another key  up",
    ]);
  });

  test.each([
    ["taken-over", "another URL with another key"],
    ["not-deployed", "not deployed yet"],
    ["to-be-removed", "still deployed"],
  ] as const)("says in words what %s means", (kind, actual) => {
    const workspaces = [{ ...place, kind, properties: [] }];
    expect(renderDrift(driftReport({ workspaces }), "text")).toContain(`${actual}  up\n`);
  });

  test("shows what drifted besides the webhooks, and how to fix what could not be checked", () => {
    const type = "pulumi-nodejs:dynamic/apichat:HandshakeResponder";
    const responder = { name: "responder", type, change: "create", stack: "s", kind: "other" } as const;
    const failure = { workspace: "acme", stack: "s", message: "HTTP 401", repair: "give the API key" };
    const others = [{ ...responder, repair: "up --refresh" }];
    const shown = renderDrift(driftReport({ outcome: "failed", failures: [failure], others }), "text");
    for (const line of [
      "Fleet production: the check failed\n",
      "; 0 with drift, and 1 other resource to change.\n",
      "responder  s      HandshakeResponder  there     missing  up --refresh\n",
      "FAILED  STACK  WHY       REPAIR\nacme    s      HTTP 401  give the API key\n",
    ]) {
      expect(shown).toContain(line);
    }
  });
});
