import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fleetProgram } from "../../dist/provider/cli/fleet/program.js";
import type {
  DriftReport,
  Fleet,
  FleetPlan,
  FleetReport,
  RunOptions,
} from "../../dist/provider/fleet/index.js";
import { driftReport, fleetPlan, fleetReport, stackReport } from "../support/fleet-reports.ts";
import { makeFolder, runHere, type HereOptions } from "./program.ts";

/** The reports that the fake fleet returns. */
interface Reports {
  plan?: Partial<FleetPlan>;
  up?: (signal: AbortSignal) => Promise<FleetReport>;
  watch?: DriftReport["outcome"];
  botUrls?: Record<string, string>;
}

const placed = (name: string, ...names: string[]) => ({
  name,
  workspaces: names.map((workspace) => ({ name: workspace, baseUrl: "https://platform.example/" })),
});
const STACKS = [
  placed("production-0-of-2", "acme", "globex"),
  placed("production-1-of-2", "initech", "umbrella"),
];

/** Runs the command line with a fake fleet. Returns the output, and which methods of the fleet were called. */
async function run(
  words: string,
  { plan, up = () => Promise.resolve(fleetReport()), watch = "no-drift", botUrls = {} }: Reports = {},
  options: HereOptions = {},
) {
  const calls: { name: string; options: object }[] = [];
  const reply =
    <Report>(name: string, report: (signal: AbortSignal) => Report | Promise<Report>) =>
    async ({ signal = AbortSignal.abort(), onEvent: _onEvent, ...given }: RunOptions = {}) => {
      calls.push({ name, options: given });
      return report(signal);
    };
  const fleet: Fleet = {
    name: "production",
    project: "apichat-fleet",
    workspaces: STACKS.flatMap(({ workspaces }) => workspaces),
    stacks: STACKS,
    plan: reply("plan", () => fleetPlan(plan)),
    up: reply("up", up),
    refresh: reply("refresh", () => fleetReport({ action: "refresh" })),
    destroy: reply("destroy", () => fleetReport({ action: "destroy" })),
    rotate: reply("rotate", () => ({ ...fleetReport(), action: "rotate", rotation: "2026-12", waves: [] })),
    watch: reply("watch", () => driftReport({ outcome: watch })),
    botUrls: () => Promise.resolve(botUrls),
    write: async (stack, folder) => void calls.push({ name: "write", options: { stack, folder } }),
  };
  const program = fleetProgram({ name: "node fleet.ts", open: () => Promise.resolve(fleet) });
  const said = await runHere(words.split(" "), { ...options, program });
  return { ...said, calls, names: calls.map(({ name }) => name) };
}

const botUrls = { acme: "https://bots.example/a", globex: "https://bots.example/g" };
const key = { workspace: "acme", change: "update" } as const;
const KEY_ALONE = [stackReport("production-0-of-2", { same: 4 }, { keys: [key] })];
const NOTHING_TO_DO: Partial<FleetPlan> = {
  stacks: [stackReport("production-0-of-2", { same: 4 })],
  removals: [],
};

describe("a fleet's command line, with a fake fleet", () => {
  test.each<[string, Reports, number, string, object]>([
    ["plan --json --refresh --stacks-at-once 3", {}, 0, "plan", { stacksAtOnce: 3, refresh: true }],
    ["plan", { plan: { outcome: "failed" } }, 1, "plan", {}],
    ["plan --max-removals 11", {}, 0, "plan", { maxRemovals: 11 }],
    ["up --skip-plan --yes --shard 2/4", {}, 0, "up", { shard: "2/4" }],
    ["refresh --calls-per-origin 2", {}, 0, "refresh", { callsPerOrigin: 2 }],
    ["destroy --yes --stop-after-failures 7", {}, 0, "destroy", { stopAfterFailures: 7 }],
    ["rotate --yes --rotation r2 --wave-size 2", {}, 0, "rotate", { rotation: "r2", waveSize: 2 }],
    ["write --stack one --folder two", {}, 0, "write", { stack: "one", folder: "two" }],
    ["watch", {}, 0, "watch", {}],
    ["watch", { watch: "drift" }, 1, "watch", {}],
    ["watch", { watch: "failed" }, 2, "watch", {}],
  ])("%s with %j exits with %i", async (words, reports, exitCode, name, options) => {
    expect(await run(words, reports)).toMatchObject({ exitCode, calls: [{ name, options }] });
  });

  test("up --yes prints the plan on stderr, the report on stdout, and Markdown to a file", async () => {
    const file = join(await makeFolder(), "a.md");
    const said = await run(`up --yes --json --max-removals 1 --markdown-file ${file}`);
    expect(JSON.parse(said.stdout)).toEqual(fleetReport());
    expect(said.stderr).toContain("Fleet production, plan: done");
    expect(await readFile(file, "utf8")).toContain("Fleet production, up: done");
    const options = { maxRemovals: 1 };
    expect(said.calls).toEqual(["plan", "up"].map((name) => ({ name, options })));
  });

  test.each<[string, Reports, number, RegExp]>([
    ["runs nothing if nothing changes", { plan: NOTHING_TO_DO }, 0, /nothing to do: 4 webhooks as declared/],
    [
      "changes nothing if its plan fails",
      { plan: { outcome: "failed" } },
      1,
      /error: the plan failed, .* --skip-plan/,
    ],
  ])("up %s", async (_, reports, exitCode, message) => {
    const stderr: unknown = expect.stringMatching(message);
    expect(await run("up --yes", reports)).toMatchObject({ exitCode, stderr, names: ["plan"] });
  });

  test.each([
    [
      "bot-urls",
      "WORKSPACE  BOT URL\nacme       https://bots.example/a\nglobex     https://bots.example/g\n",
    ],
    ["bot-urls --json", `${JSON.stringify(botUrls, undefined, 2)}\n`],
    [
      "stacks",
      "STACK              WORKSPACE\nproduction-0-of-2  acme\nproduction-0-of-2  globex\n" +
        "production-1-of-2  initech\nproduction-1-of-2  umbrella\n",
    ],
  ])("%s prints %j", async (words, stdout) => {
    expect(await run(words, { botUrls })).toMatchObject({ exitCode: 0, stdout });
  });
});

async function* pressCtrlC() {
  process.emit("SIGINT");
  yield await new Promise<string>(() => undefined);
}

describe("the confirmation prompt, with a fake fleet", () => {
  test.each(["up", "rotate", "destroy"])(
    "%s with neither a terminal nor --yes is a usage error",
    async (command) => {
      const stderr: unknown = expect.stringMatching(/there is no terminal; pass --yes/);
      expect(await run(command)).toMatchObject({ exitCode: 2, stdout: "", stderr, calls: [] });
    },
  );

  const APPLY = "Apply this plan? (y/N) ";
  const REMOVE = "Remove 2 webhooks of 2 stacks? Type 2 to continue: ";
  test.each<[string, string, HereOptions["stdin"], Reports, number, string[]]>([
    ["up", APPLY, "y\n", {}, 0, ["plan", "up"]],
    ["up", APPLY, "yup\n", {}, 1, ["plan"]],
    ["up", APPLY, "", {}, 1, ["plan"]],
    ["up", APPLY, pressCtrlC(), {}, 130, ["plan"]],
    ["up", APPLY, "y\n", { plan: { ...NOTHING_TO_DO, index: "stale" } }, 0, ["plan", "up"]],
    ["up", APPLY, "y\n", { plan: { ...NOTHING_TO_DO, stacks: KEY_ALONE } }, 0, ["plan", "up"]],
    ["rotate", "Rotate the keys of 4 workspaces, wave by wave? (y/N) ", "y\n", {}, 0, ["rotate"]],
    ["destroy", REMOVE, "2\n", { botUrls }, 0, ["destroy"]],
    ["destroy", REMOVE, "y\n", { botUrls }, 1, []],
  ])("%s asks %j; %j with %j exits with %i", async (command, asked, stdin, reports, exitCode, names) => {
    const stderr: unknown = expect.stringContaining(asked);
    const said = await run(command, reports, { stdin, isTerminal: true });
    expect(said).toMatchObject({ exitCode, stderr, names });
  });
});

describe("an interrupted run, with a fake fleet", () => {
  test.each([[["SIGINT"]], [["SIGTERM"]], [["SIGHUP"]], [["SIGINT", "SIGTERM"]]] as const)(
    "finishes after %j, prints the summary, and exits with 130",
    async (signals) => {
      const up = async (stopped: AbortSignal) => {
        setImmediate(() => signals.forEach((signal) => process.emit(signal)));
        await once(stopped, "abort");
        return fleetReport({ outcome: "stopped", stoppedBy: "interrupted" });
      };
      expect(await run("up --skip-plan --yes", { up })).toMatchObject({
        exitCode: 130,
        stdout: expect.stringContaining("Fleet production, up: stopped"),
        stderr: expect.stringContaining("press Ctrl-C again to stop at once"),
      });
    },
  );

  test("exits with 130 at once on a second, separate Ctrl-C, without a summary", async () => {
    const neverEnding = Promise.withResolvers<FleetReport>();
    const up = (stopped: AbortSignal) => {
      process.emit("SIGINT");
      process.emit("SIGINT");
      expect(stopped.aborted).toBe(true);
      setTimeout(() => process.emit("SIGINT"), 400);
      return neverEnding.promise;
    };
    expect(await run("up --skip-plan --yes", { up })).toMatchObject({ exitCode: 130, stdout: "" });
  });
});
