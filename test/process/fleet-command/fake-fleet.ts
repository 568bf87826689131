// The command line of a fleet that is a fake: it notes in a file what it is asked for, and gives fixed reports.
import { appendFileSync } from "node:fs";
import { useOwnErrorFormat, reportError } from "../../../dist/provider/cli/report-error.js";
import { fleetProgram } from "../../../dist/provider/cli/fleet/index.js";
import { endProcess } from "../../../dist/provider/cli/fleet/session.js";
import type { Fleet } from "../../../dist/provider/fleet/fleet.js";
import type { FleetPlan } from "../../../dist/provider/fleet/plan.js";
import type { RunOptions } from "../../../dist/provider/fleet/options.js";
import { fleetPlan, fleetReport, stackReport } from "../../support/fleet-reports.ts";

/** What the test wants of it. */
export interface Wishes {
  /** Where each call is noted, one JSON line each. */
  callsFile: string;
  nothingToDo?: boolean;
  /** A run was killed before it wrote the index stack. */
  indexIsStale?: boolean;
  /** What changes besides webhooks. */
  others?: FleetPlan["others"];
  planFails?: boolean;
  /** The workspaces that left the list. */
  removals?: string[];
  upFails?: boolean;
  /** `up` waits for the signal, or does not even end then. */
  up?: "until-stopped" | "for-ever";
  drift?: "no-drift" | "drift" | "failed";
  botUrls?: Record<string, string>;
}

const wishes = JSON.parse(process.env["WISHES"] ?? "{}") as Wishes;
const NAMES = ["acme", "globex", "initech", "umbrella"];

function called(name: string, given: RunOptions = {}): void {
  const { signal: _signal, onEvent: _onEvent, ...options } = given;
  appendFileSync(wishes.callsFile, `${JSON.stringify({ name, options })}\n`);
}

function reply<Report>(name: string, options: RunOptions | undefined, report: Report): Promise<Report> {
  called(name, options);
  return Promise.resolve(report);
}

function planned(): Partial<FleetPlan> {
  const { planFails, removals, nothingToDo, others = [], indexIsStale } = wishes;
  if (planFails) return { outcome: "failed" };
  if (removals) return { removals };
  if (!nothingToDo) return {};
  const totals = { create: 0, update: 0, delete: 0, same: 4 };
  return { totals, removals: [], others, index: indexIsStale ? "stale" : "current" };
}

const list = (...names: string[]) =>
  names.map((name) => ({ name, baseUrl: `https://platform.example/${name}` }));

function reportProgress({ onEvent }: RunOptions): void {
  onEvent?.({ type: "run-started", action: "up", stacks: 2, workspaces: 4 });
  onEvent?.({ type: "stack-started", stack: "production-0-of-2", workspaces: 2 });
  for (const workspace of NAMES) {
    const text = "the certificate ends soon";
    onEvent?.({ type: "note", stack: "production-0-of-2", line: `${workspace}: ${text}`, text });
  }
  onEvent?.({ type: "stack-ended", report: stackReport("production-0-of-2", { create: 2 }) });
}

async function up(options: RunOptions = {}) {
  called("up", options);
  reportProgress(options);
  const { signal } = options;
  if (wishes.up !== undefined) {
    // A promise alone does not keep a process alive, as the engine would.
    const alive = setInterval(() => undefined, 1_000);
    await new Promise<void>((resolve) => {
      signal?.addEventListener("abort", () => {
        if (wishes.up === "until-stopped") resolve();
        else appendFileSync(wishes.callsFile, `${JSON.stringify({ name: "asked to stop" })}\n`);
      });
      appendFileSync(wishes.callsFile, `${JSON.stringify({ name: "waiting" })}\n`);
    });
    clearInterval(alive);
    return fleetReport({ outcome: "stopped", stoppedBy: "interrupted" });
  }
  if (!wishes.upFails) return fleetReport();
  const failure = {
    workspace: "acme",
    stack: "production-0-of-2",
    message: "no answer\u001b[2J\nmore of it",
  };
  const second = { ...failure, workspace: "globex" };
  for (const one of [failure, second]) options.onEvent?.({ type: "failure", failure: one });
  return fleetReport({ outcome: "failed", failures: [failure, second] });
}

const fleet: Fleet = {
  name: "production",
  project: "apichat-fleet",
  indexStack: "production-index",
  workspaces: list(...NAMES),
  stacks: [
    { name: "production-0-of-2", index: 0, workspaces: list("acme", "globex") },
    { name: "production-1-of-2", index: 1, workspaces: list("initech", "umbrella") },
  ],
  plan: (options) => reply("plan", options, fleetPlan(planned())),
  up,
  refresh: (options) => reply("refresh", options, fleetReport({ action: "refresh" })),
  destroy: (options) => reply("destroy", options, fleetReport({ action: "destroy" })),
  rotate: (options) => {
    const keys = { new: NAMES, old: [], unknown: [] };
    return reply("rotate", options, {
      ...fleetReport({ action: "rotate" }),
      rotation: "2026-12",
      waves: [],
      keys,
    });
  },
  watch: (options) => {
    const { drift: outcome = "no-drift" } = wishes;
    const found = { workspaces: [], others: [], failures: [], checked: 4 };
    return reply("watch", options, {
      ...fleetReport(),
      ...found,
      outcome,
      checkedAt: "2026-11-21T22:00:00.000Z",
    });
  },
  botUrls: () => Promise.resolve(wishes.botUrls ?? {}),
  write: (stack, folder) => reply("write", { stack, folder } as RunOptions, undefined),
  recordIndex: (report) => reply("recordIndex", {}, report),
};

const program = fleetProgram({
  name: "node fleet.ts",
  open: () => {
    called("open");
    return Promise.resolve(fleet);
  },
});
useOwnErrorFormat(program);
try {
  await program.parseAsync();
} catch (error) {
  await endProcess(reportError(error));
}
