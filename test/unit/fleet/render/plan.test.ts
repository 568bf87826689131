import { describe, expect, test } from "vitest";
import { renderPlan } from "../../../../provider/fleet/render/plan.js";
import { fleetPlan } from "../../../support/fleet-reports.js";

describe("a plan", () => {
  test("tells each stack, the sum, what stands where webhooks would be created, and who left the list", () => {
    expect(renderPlan(fleetPlan(), "text")).toBe(`Plan of the fleet production: done in 3.2 s

STACK              PLAN  CREATE  UPDATE  DELETE  SAME  FAILURES
production-0-of-2  done  3       0       0       1     0
production-1-of-2  done  0       2       1       0     0
total                    3       2       1       1     0

To be created: 1 free, 1 adopted (your URL stands there), 1 taken by another URL, 0 unknown (no answer, or an unclear one).
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

To be created: 1 free, 1 adopted (your URL stands there), 1 taken by another URL, 0 unknown (no answer, or an unclear one).

Which one it is: \`apichat webhook plan --file LIST\`

1 workspace left the list and would lose the webhook: \`initech\`

Calls to the service: 3 get-webhook; 0 answers with HTTP 429.
`);
  });

  test("is whole in JSON", () => {
    const plan = fleetPlan();
    expect(JSON.parse(renderPlan(plan, "json"))).toEqual(plan);
  });

  test("leaves out what does not apply", () => {
    const totals = { create: 0, update: 0, delete: 0, same: 7 };
    const shown = renderPlan(fleetPlan({ totals, removals: [] }), "text");
    expect(shown).not.toContain("To be created");
    expect(shown).not.toContain("left the list");
  });

  test("names the first twenty who left the list, and says how many more there are", () => {
    const removals = Array.from({ length: 23 }, (_, index) => `workspace-${index}`);
    const shown = renderPlan(fleetPlan({ removals }), "text");
    expect(shown).toContain("workspace-18, workspace-19 and 3 more\n");
    expect(shown).not.toContain("workspace-20");
    expect(renderPlan(fleetPlan({ removals }), "json")).toContain("workspace-22");
  });
});
