import { describe, expect, test } from "vitest";
import { start } from "./fleet-command/harness.ts";

async function startUp(up: "until-stopped" | "for-ever") {
  const { running, readCalls } = await start(["up", "--resume"], { up });
  const untilCalled = (name: string) =>
    expect.poll(() => readCalls().map((call) => call.name), { timeout: 30_000 }).toContain(name);
  await untilCalled("waiting");
  return { running, readCalls, untilCalled };
}

describe("a run that is to end, with a fake fleet", () => {
  test.each([["SIGINT"], ["SIGTERM"], ["SIGHUP"], ["SIGINT", "SIGTERM"]] as const)(
    "%s %s lets it finish, prints the summary, and ends with 130",
    async (...signals) => {
      const { running, readCalls } = await startUp("until-stopped");
      for (const signal of signals) running.kill(signal);
      const { exitCode, stdout, stderr } = await running;
      expect(exitCode).toBe(130);
      expect(stdout).toContain("Fleet production, up: stopped");
      expect(stderr).toContain("press again to end at once");
      expect(readCalls().at(-1)).toMatchObject({ name: "close" });
    },
  );

  test("a second Ctrl-C kills what is in progress, and ends with 130 and without a summary", async () => {
    const { running, readCalls, untilCalled } = await startUp("for-ever");
    running.kill("SIGINT");
    await untilCalled("asked to stop");
    // Those that come too close after the first are the same press.
    const again = setInterval(() => running.kill("SIGINT"), 50);
    expect(await running).toMatchObject({ exitCode: 130, stdout: "" });
    clearInterval(again);
    expect(readCalls().at(-1)).toEqual({ name: "close", options: { kill: true } });
  });

  test("a reader of the report that ends early changes nothing of the exit code", async () => {
    const { running } = await start(["up", "--resume"], { upFails: true });
    running.stdout.destroy();
    expect(await running).toMatchObject({ exitCode: 1 });
  });
});
