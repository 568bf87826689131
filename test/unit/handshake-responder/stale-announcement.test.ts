import { readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { processesNaming } from "../../support/processes.js";
import { create, isolateRuns, read } from "./harness.js";

vi.mock("../../../provider/handshake-responder/program.js", () => ({
  PROGRAM: [process.execPath, new URL("fake-responder.ts", import.meta.url).pathname],
}));

const run = isolateRuns();

test(
  "a killed process whose control port a silent program has now is gone",
  { timeout: 40_000 },
  async () => {
    const created = await create();
    process.kill(created.outs.pid, "SIGKILL");
    await vi.waitUntil(async () => (await processesNaming(run.folder)).length === 0);
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const file = join(created.outs.dataDir, "instance.json");
    const announced = JSON.parse(await readFile(file, "utf8")) as object;
    const { port: controlPort } = silent.address() as AddressInfo;
    await writeFile(file, JSON.stringify({ ...announced, controlPort }));
    try {
      const [seen, again] = await Promise.all([read(created), create()]);
      expect(seen).toBeUndefined();
      expect(again.id).toBe(created.id);
    } finally {
      silent.close();
    }
  },
);
