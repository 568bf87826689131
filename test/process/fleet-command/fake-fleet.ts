// The command line of a fleet that is a fake: it notes in a file what it is asked for, and gives fixed reports.
import { appendFileSync } from "node:fs";
import { reportAsOthers, reportError } from "../../../dist/provider/cli/report-error.js";
import { fleetProgram } from "../../../dist/provider/fleet/command/program.js";
import { endProcess } from "../../../dist/provider/fleet/command/run-on-fleet.js";
import type { Fleet } from "../../../dist/provider/fleet/fleet.js";
import type { FleetPlan } from "../../../dist/provider/fleet/plan.js";
import type { RunOptions } from "../../../dist/provider/fleet/run-options.js";
import { fleetPlan, fleetReport, stackReport } from "../../support/fleet-reports.ts";

/** What the test wants of it. */
export interface Wishes {
  /** What its plan has besides the usual. */
  plan?: Partial<FleetPlan>;
  upFails?: boolean;
  /** `up` waits for the signal, or does not even end then. */
  up?: "until-stopped" | "for-ever";
  drift?: "no-drift" | "drift" | "failed";
  botUrls?: Record<string, string>;
}

const wishes = JSON.parse(process.env["WISHES"] ?? "{}") as Wishes;
const NAMES = ["acme", "globex", "initech", "umbrella"];

/** Where each call is noted, one JSON line each. */
const note = (call: object): void =>
  appendFileSync(process.env["CALLS_FILE"] ?? "", `${JSON.stringify(call)}\n`);

function called(name: string, given: object = {}): void {
  const { signal: _signal, onEvent: _onEvent, ...options } = given as RunOptions;
  note({ name, options });
}

const list = (...names: string[]) =>
  names.map((name) => ({ name, baseUrl: `https://platform.example/${name}` }));

function reportEvents({ onEvent }: RunOptions): void {
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
  reportEvents(options);
  if (wishes.up !== undefined) {
    // A promise alone does not keep a process alive, as the engine would.
    const alive = setInterval(() => undefined, 1_000);
    await new Promise<void>((resolve) => {
      options.signal?.addEventListener("abort", () => {
        if (wishes.up === "until-stopped") resolve();
        else note({ name: "asked to stop" });
      });
      note({ name: "waiting" });
    });
    clearInterval(alive);
    return fleetReport({ outcome: "stopped", stoppedBy: "interrupted" });
  }
  if (!wishes.upFails) return fleetReport();
  const failures = ["acme", "globex"].map((workspace) => ({
    workspace,
    stack: "production-0-of-2",
    message: "no answer\u001b[2J\nmore of it",
  }));
  for (const failure of failures) options.onEvent?.({ type: "failure", failure });
  return fleetReport({ outcome: "failed", failures });
}

/** A method that notes its call and gives this. */
const giving =
  <T>(name: string, given: T) =>
  (options?: object) => {
    called(name, options);
    return Promise.resolve(given);
  };

const fleet: Fleet = {
  name: "production",
  project: "apichat-fleet",
  indexStack: "production-index",
  workspaces: list(...NAMES),
  stacks: [
    { name: "production-0-of-2", index: 0, workspaces: list("acme", "globex") },
    { name: "production-1-of-2", index: 1, workspaces: list("initech", "umbrella") },
  ],
  plan: giving("plan", fleetPlan(wishes.plan ?? {})),
  up,
  refresh: giving("refresh", fleetReport({ action: "refresh" })),
  destroy: giving("destroy", fleetReport({ action: "destroy" })),
  rotate: giving("rotate", {
    ...fleetReport({ action: "rotate" }),
    rotation: "2026-12",
    waves: [],
    keys: { new: NAMES, old: [], unsure: [] },
  }),
  watch: giving("watch", {
    ...fleetReport(),
    outcome: wishes.drift ?? "no-drift",
    checkedAt: "2026-11-21T22:00:00.000Z",
    workspaces: [],
    others: [],
    failures: [],
    checked: 4,
  }),
  botUrls: () => Promise.resolve(wishes.botUrls ?? {}),
  close: giving("close", undefined),
};

const program = fleetProgram({ name: "node fleet.ts", open: giving("open", fleet) });
reportAsOthers(program);
try {
  await program.parseAsync();
} catch (error) {
  await endProcess(reportError(error));
}
