import { describe, expect, test } from "vitest";
import { renderReport, toMarkdown, type AnyReport } from "../../../provider/cli/fleet/render.js";
import { ApiChatError } from "../../../provider/errors/index.js";
import type { DriftReport, FleetPlan, RotationReport } from "../../../provider/fleet/index.js";
import { driftReport, fleetPlan, fleetReport, stackReport } from "../../support/fleet-reports.js";

const render = (report: AnyReport): string => renderReport(report, "node fleet.ts");

describe("the summary of a run", () => {
  test("groups failures by reason, and prints the next command", () => {
    const stack = "production-0-of-2";
    const report = fleetReport({
      outcome: "stopped",
      stoppedBy: "2 failures, the limit",
      failures: [
        { workspace: "acme", stack, message: "HTTP 401\nsecond line" },
        { workspace: "globex", stack, message: "HTTP 401\nanother second line" },
        { stack: "production-1-of-2", message: "the engine ended" },
      ],
      skipped: [{ stack: "production-2-of-2", workspaces: 15 }],
    });
    expect(render(report)).toBe(`Fleet production, up: stopped in 12.3 s

STACK              OUTCOME      CREATE  UPDATE  DELETE  SAME  FAILED  SECONDS
production-0-of-2  done         3       0       0       1     0       2.0
production-1-of-2  done         0       2       0       0     0       2.0
production-2-of-2  not started
total                           3       2       0       1     3       12.3

FAILED        STACK              WHY
acme, globex  production-0-of-2  HTTP 401
the stack     production-1-of-2  the engine ended

Stopped: 2 failures, the limit.
Not started: 1 stack with 15 workspaces.
After fixing this, continue with: node fleet.ts up
`);
  });

  test("lists each distinct problem with an argument once, with all workspaces that have it", () => {
    const failures = ["is missing", "is missing", "is too long"].map((text, index) => {
      const problems = [{ field: "apiKey", text }];
      const error = new ApiChatError("invalid_config", "", { operation: "check", problems }).toJSON();
      return { workspace: `w${index}`, stack: "s", message: `apiKey: ${text}`, error };
    });
    expect(render(fleetReport({ outcome: "failed", failures }))).toContain(`
w0, w1  s      apiKey: is missing
w2      s      apiKey: is too long
`);
  });

  test.each(["done", "failed"] as const)(
    "says that a %s shard does not update the index stack",
    (outcome) => {
      const text = render(fleetReport({ outcome, shard: "2/4" }));
      expect(text.includes("To continue: node fleet.ts up --shard 2/4\n")).toBe(outcome === "failed");
      expect(text).toContain(
        "Shard 2/4 does not update the index stack. When all shards are done, run node fleet.ts up without --shard.",
      );
    },
  );

  test("shows the waves of a rotation, or that there was nothing to rotate", () => {
    const waves: RotationReport["waves"] = [
      { stacks: ["production-0-of-2"], outcome: "done" },
      { stacks: ["production-1-of-2"], outcome: "stopped" },
    ];
    const rotation = { ...fleetReport(), action: "rotate" as const, rotation: "2026-12", waves };
    expect(render(rotation)).toContain(`
The rotation is named 2026-12.

WAVE  OUTCOME   STACKS
1     verified  production-0-of-2
2     stopped   production-1-of-2
`);
    const same = { ...rotation, stacks: [stackReport("production-0-of-2", { same: 4 })] };
    expect(render(same)).toContain("All 4 workspaces already had this rotation's key.");
  });

  test("escapes untrusted text for a terminal, and prevents it from ending a Markdown code block", () => {
    const drive = [{ workspace: "a\u001b[2J", stack: "s\r\u009b", message: "x\u2028y\u202ez" }];
    const text = render(fleetReport({ outcome: "failed", failures: drive }));
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Zl}\p{Bidi_Control}]/u);
    expect(text).toContain("a\\u001b[2J  s\\u000d\\u009b  x\\u2028y\\u202ez\n");

    const failures = [{ workspace: "````", stack: "<b>", message: "x\n```\n# head @everyone" }];
    const fenced = render(fleetReport({ outcome: "failed", failures }));
    expect(toMarkdown(fenced)).toBe(`\`\`\`\`\`text\n${fenced}\`\`\`\`\`\n`);
  });
});

const UNAUTHORIZED = new ApiChatError("unauthorized", "HTTP 401", { operation: "get-webhook" }).toJSON();

describe("a plan", () => {
  test("shows the stacks, what is already registered in new workspaces, and which workspaces left the list", () => {
    expect(render(fleetPlan())).toBe(`Fleet production, plan: done in 12.3 s

STACK              OUTCOME  CREATE  UPDATE  DELETE  SAME  FAILED  SECONDS
production-0-of-2  done     3       0       0       1     0       2.0
production-1-of-2  done     0       2       0       0     0       2.0
total                       3       2       0       1     0       12.3

To be created: 1 free, 1 adopted (your URL is registered), 1 taken by a different URL, 0 unknown.
To see which: npx --package pulumi-apichat apichat webhook plan --file LIST
1 workspace left the list and would lose the webhook: initech
`);
  });

  const names = Array.from({ length: 23 }, (_, index) => `workspace-${index}`);
  const keys = ["acme", "globex"].map((workspace) => ({ workspace, change: "create" as const }));

  test.each<[Partial<FleetPlan>, string]>([
    [{ creates: { free: 0, adopted: 0, taken: 0, unknown: 13 } }, "13 unknown.\n"],
    [
      { failures: [{ stack: "s", message: "", error: UNAUTHORIZED }] },
      "The service rejects an API key, so up would fail. Set the current key in APICHAT_API_KEY, " +
        "or as apiKey or apiKeyEnv in the list, then run node fleet.ts plan\n",
    ],
    [{ stacks: [stackReport("s", {}, { keys })] }, "In addition to the webhooks: 2 keys to create.\n"],
    [{ removals: names }, "workspace-18, workspace-19 and 3 more\n"],
  ])("shows for %j: %s", (more, expected) => {
    expect(render(fleetPlan(more))).toContain(expected);
    expect(render(fleetPlan())).not.toContain(expected);
  });
});

describe("the report of a watch", () => {
  const place = { workspace: "acme", stack: "s", baseUrl: "https://platform.example/acme" };
  const up = "node fleet.ts up";
  const orList = "or put the workspace back into the list";
  const properties: DriftReport["workspaces"][number]["properties"] = [
    { property: "webhookUrl", expected: "https://chat.example/a", actual: "https://old.example/a" },
    { property: "webhookVerificationKey", expected: "[secret]", actual: "[secret]" },
  ];
  test("names the workspace, the property, its expected and actual value, and the repair", () => {
    const kinds = ["gone", "not-deployed", "to-be-removed"] as const;
    const workspaces = [
      { ...place, kind: "changed" as const, properties },
      ...kinds.map((kind) => ({ ...place, kind, properties: [] })),
    ];
    const report = driftReport({ workspaces });
    expect(render(report)).toBe(`Fleet production, watch: drift in 12.3 s

60 workspaces checked at 2026-11-21T22:00:00.000Z; 4 with drift.

WORKSPACE  STACK  PROPERTY                EXPECTED                   ACTUAL                 REPAIR
acme       s      webhookUrl              https://chat.example/a     https://old.example/a  ${up} --refresh
acme       s      webhookVerificationKey  [secret]                   [secret]               ${up} --refresh
acme       s      webhook                 registered                 nothing is registered  ${up} --refresh
acme       s      webhook                 registered                 not deployed yet       ${up}
acme       s      webhook                 removed: no longer listed  still deployed         ${up}, ${orList}
`);
  });

  test("shows a takeover once, with both URLs and the command that removes the other webhook", () => {
    const report = driftReport({ workspaces: [{ ...place, kind: "taken-over", properties }] });
    const text = render(report);
    expect(text).toContain("webhook   https://chat.example/a  https://old.example/a with a different key");
    expect(text).toContain(
      "npx --package pulumi-apichat apichat webhook delete --base-url 'https://platform.example/acme' " +
        "--webhook-url 'https://old.example/a'; then node fleet.ts up --refresh\n",
    );
  });
});
