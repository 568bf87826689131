import { describe, expect, test } from "vitest";
import { renderDrift } from "../../../../provider/fleet/render/drift.js";
import type { DriftReport } from "../../../../provider/fleet/watch.js";

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
  workspaces: [
    {
      workspace: "acme",
      stack: "production-0-of-2",
      kind: "changed",
      properties: [
        { property: "webhookUrl", expected: "https://chat.example/a", actual: "https://old.example/a" },
        { property: "webhookVerificationKey", expected: "the key", actual: "other key" },
      ],
      repair: "node fleet.ts up --refresh",
    },
    { workspace: "globex", stack: "production-1-of-2", kind: "gone", properties: [], repair: "up" },
  ],
  ...more,
});

describe("the report of a drift watch", () => {
  test("names workspace, property, both values and the repair; never a key", () => {
    expect(renderDrift(driftReport(), "text")).toBe(`Fleet production: drift

60 workspaces checked in 4 s, at 2026-11-21T22:00:00.000Z; 2 with drift.

WORKSPACE  STACK              PROPERTY                EXPECTED                ACTUAL                 REPAIR
acme       production-0-of-2  webhookUrl              https://chat.example/a  https://old.example/a  node fleet.ts up --refresh
acme       production-0-of-2  webhookVerificationKey  [secret]                [secret]               node fleet.ts up --refresh
globex     production-1-of-2  webhook                 registered              nothing is registered  up

Calls to the service: 60 get-webhook; 0 answers with HTTP 429.
`);
  });

  test("says the same in Markdown", () => {
    expect(renderDrift(driftReport(), "markdown")).toBe(`## Fleet production: drift

60 workspaces checked in 4 s, at 2026-11-21T22:00:00.000Z; 2 with drift.

| Workspace | Stack | Property | Expected | Actual | Repair |
| --- | --- | --- | --- | --- | --- |
| \`acme\` | \`production-0-of-2\` | \`webhookUrl\` | \`https://chat.example/a\` | \`https://old.example/a\` | node fleet.ts up --refresh |
| \`acme\` | \`production-0-of-2\` | \`webhookVerificationKey\` | \\[secret\\] | \\[secret\\] | node fleet.ts up --refresh |
| \`globex\` | \`production-1-of-2\` | webhook | registered | nothing is registered | up |

Calls to the service: 60 get-webhook; 0 answers with HTTP 429.
`);
  });

  test("names a takeover once, with both URLs, whatever else differs", () => {
    const properties = [
      { property: "webhookUrl", expected: "https://chat.example/a", actual: "https://else.example/a" },
      { property: "webhookVerificationKey", expected: "[secret]", actual: "[secret]" },
      { property: "status", expected: "verified", actual: "failed" },
    ] as const;
    const taken = { workspace: "acme", stack: "s", kind: "taken-over", repair: "ask" } as const;
    const shown = renderDrift(
      driftReport({ workspaces: [{ ...taken, properties: [...properties] }] }),
      "text",
    );
    expect(shown.split("\n").filter((line) => line.startsWith("acme"))).toEqual([
      "acme       s      webhook   https://chat.example/a  https://else.example/a with another key  ask",
    ]);
  });

  test("shows what drifted besides the webhooks, by the name of its class", () => {
    const type = "pulumi-nodejs:dynamic/apichat:HandshakeResponder";
    const place = { name: "responder", type, stack: "s", kind: "other", repair: "up --refresh" } as const;
    const report = driftReport({ workspaces: [], others: [{ ...place, change: "create" }] });
    const shown = renderDrift(report, "text");
    expect(shown).toContain("; 0 with drift, and 1 other resource to change.\n");
    expect(shown).toContain("responder  s      HandshakeResponder  there     missing  up --refresh\n");
  });

  test("says how to fix what could not be looked at", () => {
    const failure = { workspace: "acme", stack: "s", message: "HTTP 401", repair: "give the API key" };
    const shown = renderDrift(
      driftReport({ outcome: "failed", failures: [failure], workspaces: [] }),
      "text",
    );
    expect(shown).toContain("Fleet production: the check failed\n");
    expect(shown).toContain("FAILED  STACK  WHY       REPAIR\nacme    s      HTTP 401  give the API key\n");
  });

  test.each([
    ["taken-over", "another URL with another key"],
    ["not-deployed", "not deployed yet"],
    ["to-be-removed", "still deployed"],
  ] as const)("says in words what %s means", (kind, actual) => {
    const workspaces = [{ workspace: "acme", stack: "s", kind, properties: [], repair: "up" }];
    expect(renderDrift(driftReport({ workspaces }), "text")).toContain(`${actual}  up\n`);
  });
});
