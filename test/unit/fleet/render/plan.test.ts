import { describe, expect, test } from "vitest";
import { renderPlan } from "../../../../provider/fleet/render/plan.js";
import type { FleetPlan } from "../../../../provider/fleet/plan.js";
import { fleetPlan } from "../../../support/fleet-reports.js";

describe("a plan", () => {
  test("tells each stack, the sum, what stands where webhooks would be created, and who left the list", () => {
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

  test("says the same in Markdown", () => {
    expect(renderPlan(fleetPlan(), "markdown")).toBe(`## Plan of the fleet production: done in 3.2 s

| Stack | Plan | Create | Update | Delete | Same | Failures |
| --- | --- | --- | --- | --- | --- | --- |
| \`production-0-of-2\` | done | 3 | 0 | 0 | 1 | 0 |
| \`production-1-of-2\` | done | 0 | 2 | 1 | 0 | 0 |
| total |  | 3 | 2 | 1 | 1 | 0 |

To be created: 1 free, 1 adopted (your URL stands there), 1 taken by another URL, 0 unknown.

Which one it is: \`apichat webhook plan --file LIST\`

1 workspace left the list and would lose the webhook: \`initech\`

Calls to the service: 3 get-webhook; 0 answers with HTTP 429.
`);
  });

  test("is whole in JSON", () => {
    const plan = fleetPlan();
    expect(JSON.parse(renderPlan(plan, "json"))).toEqual(plan);
  });

  test("says why it is unknown what stands there, the three most frequent reasons, and what to do about a refused key", () => {
    const creates = { free: 0, adopted: 0, taken: 0, unknown: 16 };
    const unknownReasons = [
      { reason: "unauthorized (HTTP 401)", code: "unauthorized", count: 12 },
      { reason: "unavailable (HTTP 503)", code: "unavailable", count: 2 },
      { reason: "timeout", code: "timeout", count: 1 },
      { reason: "protocol (HTTP 200)", code: "protocol", count: 1 },
    ] as const;
    const plan = fleetPlan({ creates, unknownReasons: [...unknownReasons], outcome: "failed" });
    const shown = renderPlan(plan, "text", { program: "node prod.ts" });
    expect(shown).toContain(
      "16 unknown: 12 unauthorized (HTTP 401), 2 unavailable (HTTP 503), 1 timeout and 1 other reason.\n",
    );
    expect(shown).toContain(
      "The service refuses an API key, so up would fail. Give the key of today as APICHAT_API_KEY, or as apiKey or apiKeyEnv in the list, then: node prod.ts plan\n",
    );
    expect(renderPlan(plan, "markdown")).toContain("16 unknown: 12 unauthorized (HTTP 401), ");
  });

  test("counts what changes besides the webhooks by kind, and says that the index stack is stale", () => {
    const others: FleetPlan["others"] = [
      { kind: "key", change: "create", count: 12 },
      { kind: "responder", change: "create", count: 3 },
      { kind: "other resource", change: "delete", count: 1 },
    ];
    const shown = renderPlan(fleetPlan({ others, index: "stale" }), "text");
    expect(shown).toContain(
      "Besides the webhooks: 12 keys, 3 responders to create; 1 other resource to delete.\n",
    );
    expect(shown).toContain("The index stack is stale: up writes it.\n");
  });

  test("leaves out what does not apply", () => {
    const totals = { create: 0, update: 0, delete: 0, same: 7 };
    const shown = renderPlan(fleetPlan({ totals, removals: [] }), "text");
    expect(shown).not.toContain("To be created");
    expect(shown).not.toContain("left the list");
    expect(shown).not.toContain("Besides");
    expect(shown).not.toContain("stale");
    expect(shown).not.toContain("refuses");
  });

  test("counts what somebody else has taken over, and says where it is named", () => {
    expect(renderPlan(fleetPlan({ takenOver: 2 }), "text")).toContain(
      "2 workspaces taken over by somebody else: up fails there. Which: node fleet.ts watch",
    );
    expect(renderPlan(fleetPlan(), "text")).not.toContain("taken over");
  });

  test("names the first twenty who left the list, and says how many more there are", () => {
    const removals = Array.from({ length: 23 }, (_, index) => `workspace-${index}`);
    const shown = renderPlan(fleetPlan({ removals }), "text");
    expect(shown).toContain("workspace-18, workspace-19 and 3 more\n");
    expect(shown).not.toContain("workspace-20");
    expect(renderPlan(fleetPlan({ removals }), "json")).toContain("workspace-22");
  });
});
