import { expect, onTestFinished, test, vi } from "vitest";
import { FleetProgress } from "../../../provider/cli/fleet/progress.js";
import { ApiChatError } from "../../../provider/errors/index.js";
import type { FleetEvent } from "../../../provider/fleet/index.js";
import { stackReport } from "../../support/fleet-reports.js";

const seen = (workspace: string): FleetEvent => ({
  type: "webhook",
  stack: "a",
  webhook: { workspace, change: "update" },
});
const note = (workspace: string): FleetEvent => ({
  type: "note",
  stack: "a",
  workspace,
  line: "the certificate ends soon",
});

const refused = (workspace: string): FleetEvent => {
  const error = new ApiChatError("unauthorized", "HTTP 401", {
    operation: "get-webhook",
    httpStatus: 401,
    hints: [{ id: "check_api_key" }],
  }).toJSON();
  return { type: "failure", failure: { stack: "a", workspace, message: "", error } };
};

test("progress prints a repeated note or advice only once, and counts the finished webhooks", () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => void vi.useRealTimers());
  onTestFinished(() => stderr.mockRestore());
  const progress = new FleetProgress(new AbortController().signal);
  const events: FleetEvent[] = [
    { type: "run-started", action: "rotate", stacks: 2, workspaces: 5 },
    { type: "stack-started", stack: "a", workspaces: 3 },
    note("acme"),
    note("globex"),
    seen("acme"),
  ];
  for (const event of events) progress.take(event);
  vi.advanceTimersByTime(5000);
  progress.take(seen("globex"));
  progress.take({ type: "failure", failure: { stack: "a", workspace: "globex", message: "a\u001b[2Jb" } });
  for (const workspace of ["acme", "globex"]) progress.take(refused(workspace));
  progress.take({ type: "stack-ended", report: stackReport("a", { update: 1 }) });
  progress.take({ type: "stopping", why: "1 failure, the limit" });
  expect(stderr.mock.calls.map(([text]) => text).join("")).toBe(`rotate: 5 workspaces in 2 stacks
a: 3 workspaces
acme: the certificate ends soon
2 of 5 workspaces
failed: globex (a): a\\u001b[2Jb
failed: acme (a): HTTP 401. Is the API key right?
failed: globex (a): get-webhook: HTTP 401 (unauthorized)
a: done in 2 s: update 1
stopping: 1 failure, the limit
`);
});
