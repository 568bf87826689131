import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FleetPlan } from "../../dist/provider/fleet/plan.js";
import { fleetPlan, fleetReport } from "../support/fleet-reports.ts";
import { CTRL_C, END_OF_INPUT, run, runOnTerminal } from "./fleet-command/harness.ts";
import { makeFolder } from "./program.ts";

const NOTHING: Partial<FleetPlan> = {
  totals: { create: 0, update: 0, delete: 0, same: 4 },
  removals: [],
  others: [],
  index: "current",
};
const FAILED: Partial<FleetPlan> = { outcome: "failed" };

describe("the command line of a fleet, with a fake fleet", () => {
  test("plan prints the plan, and changes to come are no failure; a plan that failed ends with 1", async () => {
    const said = await run(["plan", "--json", "--refresh", "--stacks-at-once", "3"]);
    expect(said).toMatchObject({ exitCode: 0, stderr: "" });
    expect(JSON.parse(said.stdout)).toEqual(fleetPlan());
    expect(said.calls).toContainEqual({ name: "plan", options: { stacksAtOnce: 3, refresh: true } });
    expect(await run(["plan"], { plan: FAILED })).toMatchObject({ exitCode: 1 });
  });

  test("plan fails where up would refuse so many removals", async () => {
    const plan = { removals: Array.from({ length: 11 }, (_, index) => `workspace-${index}`) };
    const refused = await run(["plan"], { plan });
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("--most-removals 11") });
    expect(await run(["plan", "--most-removals", "11"], { plan })).toMatchObject({ exitCode: 0 });
  });

  test("up --yes plans on stderr, runs, and prints nothing on stdout but the report", async () => {
    const flags = ["--yes", "--json", "--most-removals", "0", "--most-429", "5", "--calls-per-origin", "2"];
    const refused = await run(["up", ...flags]);
    expect(refused).toMatchObject({ exitCode: 2, stdout: "", called: ["open", "plan", "close"] });
    expect(refused.stderr.split("\n").at(-1)).toMatch(/"code":"invalid_config".*--most-removals 1/);

    const said = await run(["up", ...flags, "--most-removals", "1", "--stop-after-failures", "7"]);
    expect(said).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/Plan of the fleet production/),
    });
    expect(JSON.parse(said.stdout)).toEqual(fleetReport());
    const limits = { most429: 5, callsPerOrigin: 2, stopAfterFailures: 7 };
    expect(said.calls).toEqual([
      { name: "open", options: {} },
      { name: "plan", options: limits },
      { name: "up", options: { ...limits, mostRemovals: 1 } },
      { name: "close", options: {} },
    ]);
  });

  test("up --resume neither plans nor asks; up --skip-plan --yes plans not either", async () => {
    const resumed = await run(["up", "--resume"]);
    expect(resumed).toMatchObject({ exitCode: 0, called: ["open", "up", "close"] });
    expect(resumed.calls).toContainEqual({ name: "up", options: { resume: true } });
    expect((await run(["up", "--skip-plan", "--yes"])).called).toEqual(["open", "up", "close"]);
  });

  test("up with nothing to do, or after a plan that failed, runs nothing", async () => {
    const called = ["open", "plan", "close"];
    const nothing = await run(["up", "--yes", "--json"], { plan: NOTHING });
    expect(nothing).toMatchObject({ exitCode: 0, called });
    expect(nothing.stderr).toContain("nothing to do: 4 webhooks as declared");
    expect(JSON.parse(nothing.stdout)).toMatchObject({ action: "up", outcome: "done", stacks: [] });
    const failed = await run(["up", "--yes"], { plan: FAILED });
    expect(failed).toMatchObject({ exitCode: 1, stdout: "", called });
    expect(failed.stderr).toMatch(/error: the plan failed, so nothing was changed; .* --skip-plan/);
  });

  test("prints stacks as they end, failures with their first line, and what the provider reports once", async () => {
    const { exitCode, stdout, stderr } = await run(["up", "--resume"], { upFails: true });
    expect(exitCode).toBe(1);
    expect(stderr.split("\n")).toEqual([
      "up: 4 workspaces in 2 stacks",
      "acme: the certificate ends soon",
      "production-0-of-2: done in 2 s: create 2",
      "failed: acme (production-0-of-2): no answer\\u001b[2J",
      "failed: globex (production-0-of-2): the same as acme",
      "3 more times: the certificate ends soon",
    ]);
    expect(stdout).toContain("this does what is left: node fleet.ts up --resume");
  });

  test("writes Markdown and JSON into files too", async () => {
    const folder = await makeFolder();
    const [markdown, json] = [join(folder, "report.md"), join(folder, "report.json")];
    const said = await run(["refresh", "--markdown-file", markdown, "--json-file", json]);
    expect(said).toMatchObject({ exitCode: 0 });
    expect(await readFile(markdown, "utf8")).toMatch(/^## Fleet production, refresh: done/);
    expect(JSON.parse(await readFile(json, "utf8"))).toEqual(fleetReport({ action: "refresh" }));
  });

  test("rotate --yes passes its options on", async () => {
    const said = await run(["rotate", "--yes", "--rotation", "2026-12", "--wave-size", "2", "--json"]);
    expect(said.calls).toContainEqual({ name: "rotate", options: { rotation: "2026-12", waveSize: 2 } });
    expect(JSON.parse(said.stdout)).toMatchObject({ rotation: "2026-12", action: "rotate" });
  });

  test.each([
    ["no-drift", 0],
    ["drift", 1],
    ["failed", 2],
  ] as const)("watch with %s ends with %i", async (drift, exitCode) => {
    const said = await run(["watch", "--markdown"], { drift });
    expect(said).toMatchObject({ exitCode, stdout: expect.stringMatching(/^## Fleet production: /) });
    expect(said.calls).toContainEqual({ name: "watch", options: { command: "node fleet.ts" } });
  });

  test("bot-urls prints a table, JSON or lines of an environment; before the first up it fails", async () => {
    const botUrls = { acme: "https://bots.example/a", globex: "https://bots.example/g" };
    const print = async (...flags: string[]) => (await run(["bot-urls", ...flags], { botUrls })).stdout;
    expect(await print()).toBe(
      "WORKSPACE  BOT URL\nacme       https://bots.example/a\nglobex     https://bots.example/g",
    );
    expect(JSON.parse(await print("--json"))).toEqual(botUrls);
    expect(await print("--env")).toBe(
      "APICHAT_BOT_URL_ACME=https://bots.example/a\nAPICHAT_BOT_URL_GLOBEX=https://bots.example/g",
    );
    const stderr = "no bot URLs yet: node fleet.ts up writes them";
    expect(await run(["bot-urls", "--env"])).toMatchObject({ exitCode: 1, stdout: "", stderr });
  });

  test("stacks prints which stack holds which workspace", async () => {
    expect((await run(["stacks"])).stdout).toMatch(/^STACK +WORKSPACE\nproduction-0-of-2 {2}acme\n/);
    expect(JSON.parse((await run(["stacks", "--json"])).stdout)).toEqual([
      { stack: "production-0-of-2", workspaces: ["acme", "globex"] },
      { stack: "production-1-of-2", workspaces: ["initech", "umbrella"] },
    ]);
  });
});

describe("what is to be asked, with a fake fleet", () => {
  test.each(["up", "rotate", "destroy"])(
    "%s without a terminal and without --yes is wrong use",
    async (command) => {
      expect(await run([command])).toMatchObject({
        exitCode: 2,
        stdout: "",
        stderr: `error: ${command} asks before it changes anything, and there is no terminal to ask on; give --yes to run it without`,
        calls: [],
      });
    },
  );

  const UP = ["open", "plan", "up", "close"];
  const BOT_URLS = { acme: "a", globex: "b", initech: "c" };
  const APPLY = "Create 3, update 2 and delete 1 webhooks? (y/N) ";
  const REMOVE = "Remove 3 webhooks of 2 stacks? Type 3 to go on: ";
  const keys = [{ kind: "key" as const, change: "update" as const, count: 2 }];
  test.each([
    ["up", APPLY, "y\n", 0, UP],
    ["up", APPLY, "\n", 1, ["open", "plan", "close"]],
    ["up", APPLY, "yup\n", 1, ["open", "plan", "close"]],
    ["up", APPLY, END_OF_INPUT, 1, ["open", "plan", "close"]],
    ["up", APPLY, CTRL_C, 130, ["open", "plan", "close"]],
    ["up", "Apply this: 2 keys to update? (y/N) ", "y\n", 0, UP, { ...NOTHING, others: keys }],
    ["up", "Write the index stack production-index? (y/N) ", "y\n", 0, UP, { ...NOTHING, index: "stale" }],
    [
      "rotate",
      "Rotate the keys of 4 workspaces of 2 stacks in 2 waves? (y/N) ",
      "y\n",
      0,
      ["open", "rotate", "close"],
    ],
    ["destroy", REMOVE, "3\n", 0, ["open", "destroy", "close"]],
    ["destroy", REMOVE, "y\n", 1, ["open", "close"]],
  ] as [string, string, string, number, string[], Partial<FleetPlan>?][])(
    "%s asks %s; after %j it ends with %i",
    async (command, until, typed, exitCode, called, plan = {}) => {
      const said = await runOnTerminal([command], { until, typed }, { plan, botUrls: BOT_URLS });
      expect(said).toMatchObject({ exitCode, called });
      expect(said.shown).not.toMatch(/stopping|nothing to do/);
      expect(/nothing was (changed|removed)/.test(said.shown)).toBe(exitCode === 1);
    },
  );
});
