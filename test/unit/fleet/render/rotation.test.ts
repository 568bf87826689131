import { expect, test } from "vitest";
import { renderRotation } from "../../../../provider/fleet/render/rotation.js";
import type { RotationReport } from "../../../../provider/fleet/rotation.js";
import { fleetReport } from "../../../support/fleet-reports.js";

const report: RotationReport = {
  ...fleetReport({
    action: "rotate",
    outcome: "failed",
    stoppedBy: "wave 2 of 3 failed, so no later one was begun",
  }),
  rotation: "2026-12",
  waves: [
    { stacks: ["production-0-of-4"], outcome: "done", rotated: 4, failures: [] },
    {
      stacks: ["production-1-of-4", "production-2-of-4"],
      outcome: "failed",
      rotated: 1,
      failures: [{ workspace: "acme", stack: "production-1-of-4", message: "no answer" }],
    },
    { stacks: ["production-3-of-4"], outcome: "stopped", rotated: 0, failures: [] },
  ],
  keys: { new: ["a", "b", "c", "d", "e"], old: ["f"], unsure: ["acme"] },
};

test("a rotation tells its waves, who has which key, and then what a run tells", () => {
  expect(renderRotation(report, "text")).toContain(`Rotation 2026-12 of the fleet production

WAVE  OUTCOME   ROTATED  FAILURES  STACKS
1     verified  4        0         production-0-of-4
2     failed    1        1         production-1-of-4, production-2-of-4
3     stopped   0        0         production-3-of-4

Keys: 5 new, 1 old (still accepted), 1 unsure: acme

Fleet production, rotate: failed in 12 s

STACK `);
  expect(renderRotation(report, "text")).toMatch(
    /\nStopped: wave 2 of 3 failed, so no later one was begun\.\nTo go on: node fleet\.ts rotate --resume\n$/,
  );
});

test("a rotation that everybody has already says so", () => {
  const note = "Every workspace had the key of rotation 2026-12 already: nothing was changed";
  expect(renderRotation({ ...report, note }, "markdown")).toContain(`\n${note}.\n`);
});
