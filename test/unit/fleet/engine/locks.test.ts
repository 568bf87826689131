import { expect, test } from "vitest";
import { readHolders } from "../../../../provider/fleet/engine/locks.ts";

test("the holders of a lock are read from the text of the file backends", () => {
  const text = `error: the stack is currently locked by 2 lock(s). Either wait for the other process(es) to end or delete the lock file with \`pulumi cancel\`.
  file:///state/.pulumi/locks/organization/fleet/s1/1.json: created by deploy@runner-7.example (pid 4711) at 2026-11-21T22:00:00Z
  file:///state/.pulumi/locks/organization/fleet/s1/2.json: created by root@here (pid 12) at 2026-11-21T22:00:00Z`;
  expect(readHolders(text)).toEqual([
    { user: "deploy", host: "runner-7.example", pid: 4711 },
    { user: "root", host: "here", pid: 12 },
  ]);
});

test("Pulumi Cloud names nobody", () => {
  expect(readHolders("error: [409] Conflict: Another update is currently in progress.")).toEqual([]);
});
