import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { FleetPlan } from "../../dist/provider/fleet/index.js";
import { fleetReport, stackReport } from "../support/fleet-reports.ts";
import type { Wishes } from "./fleet-command/fake-fleet.ts";
import { CTRL_C, END_OF_INPUT, run, runOnTerminal, start } from "./fleet-command/harness.ts";
import { makeFolder } from "./program.ts";

type Wish = Omit<Wishes, "callsFile">;

const names = (calls: readonly { name: string }[]): string[] => calls.map(({ name }) => name);

const botUrls = { acme: "https://bots.example/a", globex: "https://bots.example/g" };
const key = { name: "acme", type: "apichat:index:VerificationKey", change: "update" } as const;
const KEY_ALONE = [stackReport("production-0-of-2", { same: 4 }, { others: [key] })];
const NOTHING_TO_DO: Partial<FleetPlan> = {
  stacks: [stackReport("production-0-of-2", { same: 4 })],
  removals: [],
};

describe("a fleet's command line, with a fake fleet", () => {
  test.each([
    [
      "plan --json --refresh --stacks-at-once 3",
      {},
      0,
      { name: "plan", options: { stacksAtOnce: 3, refresh: true } },
    ],
    ["plan", { plan: { outcome: "failed" } }, 1, { name: "plan", options: {} }],
    ["plan --max-removals 11", {}, 0, { name: "plan", options: { maxRemovals: 11 } }],
    ["up --skip-plan --yes --shard 2/4", {}, 0, { name: "up", options: { shard: "2/4" } }],
    ["refresh --calls-per-origin 2", {}, 0, { name: "refresh", options: { callsPerOrigin: 2 } }],
    ["destroy --yes --stop-after-failures 7", {}, 0, { name: "destroy", options: { stopAfterFailures: 7 } }],
    [
      "rotate --yes --rotation 2026-12 --wave-size 2",
      {},
      0,
      { name: "rotate", options: { rotation: "2026-12", waveSize: 2 } },
    ],
    [
      "write --stack production-0-of-2 --folder stack",
      {},
      0,
      { name: "write", options: { stack: "production-0-of-2", folder: "stack" } },
    ],
    ["watch", {}, 0, { name: "watch", options: {} }],
    ["watch", { watch: "drift" }, 1, { name: "watch", options: {} }],
    ["watch", { watch: "failed" }, 2, { name: "watch", options: {} }],
  ] as const)("%s with %j ends with %i", async (words, wishes, exitCode, call) => {
    const { calls, ...ended } = await run(words.split(" "), wishes);
    expect(ended.exitCode).toBe(exitCode);
    expect(calls).toEqual([{ name: "open", options: {} }, call]);
  });

  test("up --yes prints the plan on stderr, and only the report on stdout", async () => {
    const { exitCode, stdout, stderr, calls } = await run(["up", "--yes", "--json", "--max-removals", "1"]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(fleetReport());
    expect(stderr).toContain("Plan of the fleet production");
    expect(calls).toMatchObject([
      { name: "open" },
      { name: "plan", options: { maxRemovals: 1 } },
      { name: "up", options: { maxRemovals: 1 } },
    ]);
  });

  test.each<[string, Wish, number, RegExp]>([
    ["without changes runs nothing", { plan: NOTHING_TO_DO }, 0, /nothing to do: 4 webhooks as declared/],
    [
      "after a plan that failed changes nothing",
      { plan: { outcome: "failed" } },
      1,
      /error: the plan failed, .* --skip-plan/,
    ],
  ])("up %s", async (_, wishes, exitCode, message) => {
    const { calls, ...ended } = await run(["up", "--yes"], wishes);
    expect(ended).toMatchObject({ exitCode, stderr: expect.stringMatching(message) });
    expect(names(calls)).toEqual(["open", "plan"]);
  });

  test("also writes Markdown to a file", async () => {
    const file = join(await makeFolder(), "a.md");
    const { stdout } = await run(["up", "--skip-plan", "--yes", "--json", "--markdown-file", file]);
    expect(await readFile(file, "utf8")).toContain("Fleet production, up: done");
    expect(JSON.parse(stdout)).toEqual(fleetReport());
  });

  test.each([
    ["bot-urls", "WORKSPACE  BOT URL\nacme       https://bots.example/a\nglobex     https://bots.example/g"],
    ["bot-urls --json", JSON.stringify(botUrls, undefined, 2)],
    [
      "stacks",
      "STACK              WORKSPACE\nproduction-0-of-2  acme\nproduction-0-of-2  globex\n" +
        "production-1-of-2  initech\nproduction-1-of-2  umbrella",
    ],
  ])("%s prints %j", async (words, stdout) => {
    expect(await run(words.split(" "), { botUrls })).toMatchObject({ exitCode: 0, stdout });
  });
});

describe("the confirmation prompt, with a fake fleet", () => {
  test.each(["up", "rotate", "destroy"])(
    "%s without a terminal and without --yes is a usage error",
    async (command) => {
      const said = await run([command]);
      expect(said).toMatchObject({ exitCode: 2, stdout: "", calls: [] });
      expect(said.stderr).toMatch(/there is no terminal; pass --yes/);
    },
  );

  const QUESTION = "Apply this plan? (y/N) ";
  test.each<[string, string, string, Wish, number, string[]]>([
    ["up", QUESTION, "y\n", {}, 0, ["plan", "up"]],
    ["up", QUESTION, "yup\n", {}, 1, ["plan"]],
    ["up", QUESTION, END_OF_INPUT, {}, 1, ["plan"]],
    ["up", QUESTION, CTRL_C, {}, 130, ["plan"]],
    ["up", QUESTION, "y\n", { plan: { ...NOTHING_TO_DO, index: "stale" } }, 0, ["plan", "up"]],
    ["up", QUESTION, "y\n", { plan: { ...NOTHING_TO_DO, stacks: KEY_ALONE } }, 0, ["plan", "up"]],
    ["rotate", "Give 4 workspaces a new key, wave by wave? (y/N) ", "y\n", {}, 0, ["rotate"]],
    ["destroy", "Remove 2 webhooks of 2 stacks? Type 2 to continue: ", "2\n", { botUrls }, 0, ["destroy"]],
    ["destroy", "Remove 2 webhooks of 2 stacks? Type 2 to continue: ", "y\n", { botUrls }, 1, []],
  ])("%s prompts %j; %j with %j ends with %i", async (command, until, typed, wishes, exitCode, calls) => {
    const said = await runOnTerminal([command], { until, typed }, wishes);
    expect(said.exitCode).toBe(exitCode);
    expect(names(said.calls)).toEqual(["open", ...calls]);
  });
});

async function startUp(up: "until-stopped" | "for-ever") {
  const { child, ended, readCalls } = await start(["up", "--skip-plan", "--yes"], { up });
  const untilCalled = (name: string) =>
    vi.waitFor(() => expect(names(readCalls())).toContain(name), { timeout: 30_000 });
  await untilCalled("waiting");
  return { child, ended, untilCalled };
}

describe("an interrupted run, with a fake fleet", () => {
  test.each([["SIGINT"], ["SIGTERM"], ["SIGHUP"], ["SIGINT", "SIGTERM"]] as const)(
    "%s %s finishes, prints the summary, and ends with 130",
    async (...signals) => {
      const { child, ended } = await startUp("until-stopped");
      for (const signal of signals) child.kill(signal);
      const { exitCode, stdout, stderr } = await ended;
      expect(exitCode).toBe(130);
      expect(stdout).toContain("Fleet production, up: stopped");
      expect(stderr).toContain("press Ctrl-C again to stop at once");
    },
  );

  test("a second Ctrl-C ends it with 130, at once and without a summary", async () => {
    const { child, ended, untilCalled } = await startUp("for-ever");
    child.kill("SIGINT");
    await untilCalled("asked to stop");
    // A Ctrl-C soon after the first counts as the same press.
    const again = setInterval(() => child.kill("SIGINT"), 50);
    const said = await ended;
    clearInterval(again);
    expect(said).toMatchObject({ exitCode: 130, stdout: "" });
  });
});
