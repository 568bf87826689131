import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fleetPlan, fleetReport } from "../support/fleet-reports.ts";
import { CTRL_C, END_OF_INPUT, folder, run, runOnTerminal } from "./fleet-command/harness.ts";

const names = (calls: readonly { name: string }[]): string[] => calls.map(({ name }) => name);

describe("the command line of a fleet, with a fake fleet", () => {
  test("plan prints the plan, and changes to come are no failure", async () => {
    const said = await run(["plan", "--json", "--refresh", "--stacks-at-once", "3"]);
    expect(said).toMatchObject({ exitCode: 0, stderr: "" });
    expect(JSON.parse(said.stdout)).toEqual(fleetPlan());
    expect(said.calls).toContainEqual({ name: "plan", options: { stacksAtOnce: 3, refresh: true } });
  });

  test("plan that failed ends with 1", async () => {
    expect(await run(["plan"], { planFails: true })).toMatchObject({ exitCode: 1 });
  });

  test("up --yes plans on stderr, runs, and prints nothing on stdout but the report", async () => {
    const flags = ["--yes", "--json", "--most-removals", "0", "--most-429", "5", "--calls-per-origin", "2"];
    const refused = await run(["up", ...flags]);
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(refused.stderr.split("\n").at(-1)).toMatch(/"code":"invalid_config".*--most-removals 1/);
    expect(names(refused.calls)).toEqual(["open", "plan", "close"]);

    const said = await run(["up", ...flags, "--most-removals", "1", "--stop-after-failures", "7"]);
    expect(said.exitCode).toBe(0);
    expect(JSON.parse(said.stdout)).toEqual(fleetReport());
    expect(said.stderr).toContain("Plan of the fleet production");
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
    expect(resumed.exitCode).toBe(0);
    expect(resumed.calls).toContainEqual({ name: "up", options: { resume: true } });
    expect(names(resumed.calls)).not.toContain("plan");
    expect(names((await run(["up", "--skip-plan", "--yes"])).calls)).toEqual(["open", "up", "close"]);
  });

  test("up with nothing to do says so, and runs nothing", async () => {
    const said = await run(["up", "--yes", "--json"], { nothingToDo: true });
    expect(said).toMatchObject({ exitCode: 0 });
    expect(said.stderr).toContain("nothing to do: 4 webhooks as declared");
    expect(JSON.parse(said.stdout)).toMatchObject({ action: "up", outcome: "done", stacks: [] });
    expect(names(said.calls)).toEqual(["open", "plan", "close"]);
  });

  test.each([
    ["a stale index stack", { indexIsStale: true }, "Write the index stack production-index? (y/N) "],
    [
      "keys alone",
      { others: [{ kind: "key" as const, change: "update" as const, count: 2 }] },
      "Apply this: 2 keys to update? (y/N) ",
    ],
  ])("up with %s has something to do, and says what", async (_, wishes, until) => {
    const said = await runOnTerminal(["up"], { until, typed: "y\n" }, { nothingToDo: true, ...wishes });
    expect(said).toMatchObject({ exitCode: 0 });
    expect(said.shown).not.toContain("nothing to do");
    expect(names(said.calls)).toEqual(["open", "plan", "up", "close"]);
  });

  test("up after a plan that failed changes nothing", async () => {
    const said = await run(["up", "--yes"], { planFails: true });
    expect(said).toMatchObject({ exitCode: 1, stdout: "" });
    expect(said.stderr).toMatch(/error: the plan failed, so nothing was changed; .* --skip-plan/);
    expect(names(said.calls)).toEqual(["open", "plan", "close"]);
  });

  test("shows stacks as they end, failures with their first line, and what the provider says once", async () => {
    const { exitCode, stdout, stderr } = await run(["up", "--resume"], { upFails: true });
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      [
        "up: 4 workspaces in 2 stacks",
        "acme: the certificate ends soon",
        "production-0-of-2: done in 2 s: create 2",
        "failed: acme (production-0-of-2): no answer\\u001b[2J",
        "failed: globex (production-0-of-2): the same as acme",
        "3 more times: the certificate ends soon",
      ].join("\n"),
    );
    expect(stdout).toContain("this does what is left: node fleet.ts up --resume");
  });

  test("writes Markdown and JSON into files too", async () => {
    const files = { markdown: join(folder, "report.md"), json: join(folder, "report.json") };
    const flags = ["--markdown-file", files.markdown, "--json-file", files.json];
    expect(await run(["refresh", ...flags])).toMatchObject({ exitCode: 0 });
    expect(await readFile(files.markdown, "utf8")).toMatch(/^## Fleet production, refresh: done/);
    expect(JSON.parse(await readFile(files.json, "utf8"))).toEqual(fleetReport({ action: "refresh" }));
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
    expect(said.exitCode).toBe(exitCode);
    expect(said.stdout).toMatch(/^## Fleet production: /);
    expect(said.calls).toContainEqual({ name: "watch", options: { command: "node fleet.ts" } });
  });

  test("plan fails where up would refuse so many removals", async () => {
    const removals = Array.from({ length: 11 }, (_, index) => `workspace-${index}`);
    const refused = await run(["plan"], { removals });
    expect(refused).toMatchObject({ exitCode: 2 });
    expect(refused.stderr).toContain("--most-removals 11");
    expect(await run(["plan", "--most-removals", "11"], { removals })).toMatchObject({ exitCode: 0 });
  });

  test("bot-urls prints a table, JSON or lines of an environment", async () => {
    const botUrls = { acme: "https://bots.example/a", globex: "https://bots.example/g" };
    const table = await run(["bot-urls"], { botUrls });
    expect(table.stdout).toBe(
      "WORKSPACE  BOT URL\nacme       https://bots.example/a\nglobex     https://bots.example/g",
    );
    expect(JSON.parse((await run(["bot-urls", "--json"], { botUrls })).stdout)).toEqual(botUrls);
    expect((await run(["bot-urls", "--env"], { botUrls })).stdout).toBe(
      "APICHAT_BOT_URL_ACME=https://bots.example/a\nAPICHAT_BOT_URL_GLOBEX=https://bots.example/g",
    );
  });

  test("bot-urls before the first up fails and says so, and prints nothing", async () => {
    const said = await run(["bot-urls", "--env"]);
    expect(said).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: "no bot URLs yet: node fleet.ts up writes them",
    });
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
      const said = await run([command]);
      expect(said).toMatchObject({ exitCode: 2, stdout: "", calls: [] });
      expect(said.stderr).toBe(
        `error: ${command} asks before it changes anything, and there is no terminal to ask on; give --yes to run it without`,
      );
    },
  );

  test("up runs after a yes, and does nothing after anything else", async () => {
    const until = "Create 3, update 2 and delete 1 webhooks? (y/N) ";
    const yes = await runOnTerminal(["up"], { until, typed: "y\n" });
    expect(yes).toMatchObject({ exitCode: 0 });
    expect(names(yes.calls)).toEqual(["open", "plan", "up", "close"]);
    for (const typed of ["\n", "yup\n", END_OF_INPUT]) {
      const no = await runOnTerminal(["up"], { until, typed });
      expect(no).toMatchObject({ exitCode: 1 });
      expect(no.shown).toContain("nothing was changed");
      expect(names(no.calls)).toEqual(["open", "plan", "close"]);
    }
  });

  test("rotate names workspaces, stacks and waves", async () => {
    const until = "Rotate the keys of 4 workspaces of 2 stacks in 2 waves? (y/N) ";
    const { calls } = await runOnTerminal(["rotate"], { until, typed: "y\n" });
    expect(names(calls)).toEqual(["open", "rotate", "close"]);
  });

  test("destroy wants the number of webhooks that there are", async () => {
    const botUrls = { acme: "a", globex: "b", initech: "c" };
    const until = "Remove 3 webhooks of 2 stacks? Type 3 to go on: ";
    const confirmed = await runOnTerminal(["destroy"], { until, typed: "3\n" }, { botUrls });
    expect(names(confirmed.calls)).toEqual(["open", "destroy", "close"]);
    const refused = await runOnTerminal(["destroy"], { until, typed: "y\n" }, { botUrls });
    expect(refused).toMatchObject({ exitCode: 1 });
    expect(names(refused.calls)).toEqual(["open", "close"]);
  });

  test("Ctrl-C at a question ends the command with 130, and nothing runs", async () => {
    const said = await runOnTerminal(["up"], { until: "(y/N) ", typed: CTRL_C });
    expect(said).toMatchObject({ exitCode: 130 });
    expect(said.shown).not.toContain("stopping");
    expect(names(said.calls)).toEqual(["open", "plan", "close"]);
  });
});
