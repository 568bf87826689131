import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { LiveLine } from "../../../../provider/fleet/command/live-line.js";
import { NoteBook } from "../../../../provider/fleet/command/notes.js";
import { FleetProgress } from "../../../../provider/fleet/command/progress.js";
import { stackReport } from "../../../support/fleet-reports.js";

const REMOVED = "\u001b[2K\u001b[1G";

function openScreen(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 60 });
  const screen = new LiveLine(stream as unknown as NodeJS.WriteStream);
  return { screen, shown: () => String(stream.read() ?? "") };
}

describe("the line that changes", () => {
  test("is replaced on a terminal, cut to its width, and stays below what is said", () => {
    const { screen, shown } = openScreen(true);
    screen.show("first");
    screen.say("a note");
    screen.show("x".repeat(70));
    screen.show("");
    expect(shown()).toBe(`first${REMOVED}a note\nfirst${REMOVED}${"x".repeat(59)}${REMOVED}`);
  });

  test("is not there elsewhere, and nothing said can drive a terminal later", () => {
    const { screen, shown } = openScreen(false);
    screen.show("first");
    screen.say("a\u001b[2Jb\nc");
    expect(shown()).toBe("a\\u001b[2Jb\\u000ac\n");
  });
});

test("a run on a terminal is shown in one line with stacks, workspaces and failures", () => {
  const { screen, shown } = openScreen(true);
  const progress = new FleetProgress(screen, new AbortController().signal);
  progress.take({ type: "run-started", action: "rotate", stacks: 2, workspaces: 5 });
  progress.take({ type: "wave-started", wave: 1, waves: 2, stacks: ["a"] });
  progress.take({ type: "stack-started", stack: "a", workspaces: 3 });
  progress.take({ type: "webhook", stack: "a", webhook: { workspace: "acme", change: "update" } });
  progress.take({ type: "failure", failure: { stack: "a", workspace: "globex", message: "no answer" } });
  progress.take({ type: "stack-ended", report: stackReport("a", { update: 1 }) });
  progress.end();
  const lines = shown().replaceAll(REMOVED, "\n").split("\n");
  expect(lines).toContain("failed: globex (a): no answer");
  expect(lines.filter((line) => line.startsWith("rotate, wave 1 of 2: ")).at(-1)).toBe(
    "rotate, wave 1 of 2: 1 of 2 stacks done, 0 under way; 1 of ",
  );
  expect(lines.at(-1)).toBe("");
});

test("a note that comes for many workspaces is said once, and then how often it came again", () => {
  const said: string[] = [];
  const notes = new NoteBook((line) => said.push(line));
  notes.take("acme: the certificate ends soon", "the certificate ends soon");
  notes.take("globex: the certificate ends soon", "the certificate ends soon");
  notes.take("something else");
  notes.end();
  expect(said).toEqual([
    "acme: the certificate ends soon",
    "something else",
    "1 more time: the certificate ends soon",
  ]);
});
