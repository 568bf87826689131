import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { FleetProgress, LiveLine } from "../../../provider/cli/fleet/progress.js";
import { stackReport } from "../../support/fleet-reports.js";
import { takeText } from "../../support/stream.js";

function openScreen(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 60 });
  const screen = new LiveLine(stream as unknown as NodeJS.WriteStream);
  return { screen, shown: () => takeText(stream) };
}

describe("the progress of a run", () => {
  const REMOVED = "\u001b[2K\u001b[1G";

  test("has no such line elsewhere, and nothing printed can drive a terminal later", () => {
    const { screen, shown } = openScreen(false);
    screen.show("first");
    screen.log("a\u001b[2Jb\nc");
    expect(shown()).toBe("a\\u001b[2Jb\\u000ac\n");
  });

  test("has stacks, workspaces and failures, and a note of many workspaces once", () => {
    const { screen, shown } = openScreen(true);
    const progress = new FleetProgress(screen, new AbortController().signal);
    const text = "the certificate ends soon";
    progress.take({ type: "run-started", action: "rotate", stacks: 2, workspaces: 5 });
    progress.take({ type: "wave-started", wave: 1, waves: 2, stacks: ["a"] });
    progress.take({ type: "stack-started", stack: "a", workspaces: 3 });
    progress.take({ type: "webhook", stack: "a", webhook: { workspace: "acme", change: "update" } });
    for (const name of ["acme", "globex"])
      progress.take({ type: "note", stack: "a", line: `${name}: ${text}`, text });
    progress.take({ type: "failure", failure: { stack: "a", workspace: "globex", message: "no answer" } });
    progress.take({ type: "stack-ended", report: stackReport("a", { update: 1 }) });
    progress.end();
    const lines = shown().replaceAll(REMOVED, "\n").split("\n");
    expect(lines).toContain("failed: globex (a): no answer");
    expect(lines.filter((line) => line.includes(text))).toEqual([`acme: ${text}`, `1 more time: ${text}`]);
    expect(lines.filter((line) => line.startsWith("rotate, wave 1 of 2: ")).at(-1)).toBe(
      "rotate, wave 1 of 2: 1 of 2 stacks done, 0 in progress; 1 o",
    );
  });
});
