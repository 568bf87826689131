import { expect, test, vi } from "vitest";
import { processesNaming } from "../../support/processes.js";
import { create, destroy, errorOf, isolateRuns, read } from "./harness.js";

vi.mock("../../../provider/handshake-responder/program.js", () => ({
  PROGRAM: [process.execPath, new URL("fake-responder.ts", import.meta.url).pathname],
}));

const run = isolateRuns();

test(
  "a process that hangs is an error for read, not gone, and delete kills it",
  { timeout: 40_000 },
  async () => {
    const created = await create();
    process.kill(created.outs.pid, "SIGSTOP");
    const [error] = await Promise.all([errorOf(read(created)), destroy(created)]);
    expect(error).toMatchObject({ code: "timeout" });
    expect(error.message).toContain(`chat: the responder (process ${created.outs.pid}) has not answered`);
    expect(error.message).toContain(`kill -9 ${created.outs.pid}`);
    expect(await processesNaming(run.folder)).toEqual([]);
  },
);
