import { describe, expect, test, vi } from "vitest";
import { start } from "./fleet-command/harness.ts";

async function startUp(up: "until-stopped" | "for-ever") {
  const { running, readCalls } = start(["up", "--resume"], { up });
  const untilCalled = (name: string) =>
    vi.waitFor(async () => expect((await readCalls()).map((call) => call.name)).toContain(name), {
      timeout: 30_000,
    });
  await untilCalled("waiting");
  return { running, readCalls, untilCalled };
}

describe("a run that is to end, with a fake fleet", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s lets it finish, prints the summary, and ends with 130",
    async (signal) => {
      const { running, readCalls } = await startUp("until-stopped");
      running.kill(signal);
      const { exitCode, stdout, stderr } = await running;
      expect(exitCode).toBe(130);
      expect(stdout).toContain("Fleet production, up: stopped");
      expect(stderr).toContain("stopping: the engine finishes what is under way; press again to end at once");
      expect((await readCalls()).at(-1)).toMatchObject({ name: "close" });
    },
  );

  test("a second Ctrl-C kills what is under way, and ends with 130 and without a summary", async () => {
    const { running, readCalls, untilCalled } = await startUp("for-ever");
    running.kill("SIGINT");
    await untilCalled("asked to stop");
    // Those that come too close after the first are the same press.
    const again = setInterval(() => running.kill("SIGINT"), 50);
    const { exitCode, stdout } = await running;
    clearInterval(again);
    expect(exitCode).toBe(130);
    expect(stdout).toBe("");
    expect((await readCalls()).at(-1)).toEqual({ name: "close", options: { kill: true } });
  });

  test("a SIGTERM after Ctrl-C does not cut it off", async () => {
    const { running } = await startUp("until-stopped");
    running.kill("SIGINT");
    running.kill("SIGTERM");
    expect(await running).toMatchObject({ exitCode: 130 });
  });

  test("a reader of the report that has gone changes nothing of the exit code", async () => {
    const { running } = start(["up", "--resume"], { upFails: true });
    running.stdout.destroy();
    expect(await running).toMatchObject({ exitCode: 1 });
  });
});
