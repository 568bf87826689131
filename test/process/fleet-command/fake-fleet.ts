// The command line on a fake fleet, which records its calls in a file and returns fixed reports.
import { appendFileSync } from "node:fs";
import { once } from "node:events";
import { useOwnFormat, reportError } from "../../../dist/provider/cli/report-error.js";
import { fleetProgram } from "../../../dist/provider/cli/fleet/program.js";
import { endProcess } from "../../../dist/provider/cli/output.js";
import type { DriftReport, Fleet, FleetPlan, RunOptions } from "../../../dist/provider/fleet/index.js";
import { fleetPlan, fleetReport } from "../../support/fleet-reports.ts";

/** The behaviour that the test asks for. */
export interface Wishes {
  /** The file of the calls, one JSON line each. */
  callsFile: string;
  plan?: Partial<FleetPlan>;
  /** Whether `up` waits for the signal, or does not even end then. */
  up?: "until-stopped" | "for-ever";
  watch?: DriftReport["outcome"];
  botUrls?: Record<string, string>;
}

const wishes = JSON.parse(process.env["WISHES"] ?? "{}") as Wishes;

function called(name: string, given: RunOptions = {}): void {
  const { signal: _signal, onEvent: _onEvent, ...options } = given;
  appendFileSync(wishes.callsFile, `${JSON.stringify({ name, options })}\n`);
}

function reply<Report>(name: string, options: RunOptions | undefined, report: Report): Promise<Report> {
  called(name, options);
  return Promise.resolve(report);
}

const list = (...names: string[]) =>
  names.map((name) => ({ name, baseUrl: `https://platform.example/${name}` }));

async function up(options: RunOptions = {}) {
  called("up", options);
  const { signal } = options;
  if (wishes.up === undefined || signal === undefined) return fleetReport();
  // A promise alone does not keep a process running, as the engine would.
  const alive = setInterval(() => undefined, 1_000);
  called("waiting");
  await once(signal, "abort");
  called("asked to stop");
  if (wishes.up === "for-ever") await new Promise(() => undefined);
  clearInterval(alive);
  return fleetReport({ outcome: "stopped", stoppedBy: "interrupted" });
}

const names = ["acme", "globex", "initech", "umbrella"];

const fleet: Fleet = {
  name: "production",
  project: "apichat-fleet",
  workspaces: list(...names),
  stacks: [
    { name: "production-0-of-2", index: 0, workspaces: list("acme", "globex") },
    { name: "production-1-of-2", index: 1, workspaces: list("initech", "umbrella") },
  ],
  plan: (options) => reply("plan", options, fleetPlan(wishes.plan)),
  up,
  refresh: (options) => reply("refresh", options, fleetReport({ action: "refresh" })),
  destroy: (options) => reply("destroy", options, fleetReport({ action: "destroy" })),
  rotate: (options) => {
    const rotation = { action: "rotate" as const, rotation: "2026-12", waves: [] };
    return reply("rotate", options, { ...fleetReport(), ...rotation });
  },
  watch: (options) => {
    const outcome = wishes.watch ?? "no-drift";
    const found = { action: "watch" as const, outcome, workspaces: [], checked: 4 };
    return reply("watch", options, { ...fleetReport(), ...found });
  },
  botUrls: () => Promise.resolve(wishes.botUrls ?? {}),
  write: (stack, folder) => reply("write", { stack, folder } as RunOptions, undefined),
};

const program = fleetProgram({ name: "node fleet.ts", open: () => reply("open", {}, fleet) });
useOwnFormat(program);
try {
  await program.parseAsync();
} catch (error) {
  await endProcess(reportError(error));
}
