import { expect, onTestFinished, test, vi } from "vitest";
import { readHolders } from "../../../../provider/fleet/engine/locks.ts";
import { listStacks } from "../../../../provider/fleet/engine/open-stack.ts";

test("without pulumi on PATH the failure says how to get one", async () => {
  vi.stubEnv("PATH", "/nonexistent");
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(listStacks("apichat-fleet")).rejects.toThrow(/pulumi is not on PATH: install it \(https:/);
});

test("the holders of a lock are read from the text of the file backends; Pulumi Cloud names nobody", () => {
  const text = `error: the stack is currently locked by 2 lock(s). Either wait for the other process(es) to end or delete the lock file with \`pulumi cancel\`.
  file:///state/.pulumi/locks/organization/fleet/s1/1.json: created by deploy@runner-7.example (pid 4711) at 2026-11-21T22:00:00Z
  file:///state/.pulumi/locks/organization/fleet/s1/2.json: created by root@here (pid 12) at 2026-11-21T22:00:00Z`;
  expect(readHolders(text)).toEqual([
    { user: "deploy", host: "runner-7.example", pid: 4711 },
    { user: "root", host: "here", pid: 12 },
  ]);
  expect(readHolders("error: [409] Conflict: Another update is currently in progress.")).toEqual([]);
});
