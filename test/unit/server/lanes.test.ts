import { expect, test } from "vitest";
import { accepting, openKeeper, REFUSED, spoolFile } from "./spool-harness.js";

const addTo = (workspace: string) => accepting({ workspace, conversation: undefined });

/** Opens a spool with this many deliveries for each workspace, each in its own conversation. */
function openFull(limits: { perWorkspace: number; total: number }, names: string[], each: number) {
  const { run, call, take } = openKeeper(spoolFile(), limits);
  run(...names.flatMap((workspace) => Array.from({ length: each }, () => addTo(workspace))));
  call("forward", [...names, "other"], []);
  const takeNames = () => take().map(({ workspace }) => workspace);
  return { take, call, takeNames, accept: () => call(...addTo("other")) };
}

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `w${index}`);

test.each([
  { workspaces: 1, most: 3 },
  { workspaces: 2, most: 6 },
  { workspaces: 10, most: 8 },
])("makes at most $most attempts at once for $workspaces workspaces", ({ workspaces, most }) => {
  const { take, call } = openFull({ perWorkspace: 3, total: 8 }, namesOf(workspaces), 12);
  for (let round = 0; round < 3; round++) {
    const taken = take();
    expect([taken.length, take()]).toEqual([most, []]);
    for (const { position } of taken) call("complete", position);
  }
});

test("workspaces take turns, so none waits until another has finished", () => {
  const { take, call } = openFull({ perWorkspace: 1, total: 2 }, namesOf(4), 4);
  const begun: string[] = [];
  for (let round = 0; round < 4; round++)
    for (const { position, workspace } of take()) {
      begun.push(workspace);
      call("complete", position);
    }
  expect(begun).toEqual([...namesOf(4), ...namesOf(4)]);
});

test("workspaces whose first attempts hang never use up all attempts", () => {
  const { takeNames, accept } = openFull({ perWorkspace: 64, total: 256 }, namesOf(9), 40);
  expect(takeNames().length).toBeGreaterThan(200);
  accept();
  expect(takeNames()).toEqual(["other"]);
});

test("workspaces whose last attempts timed out use at most half of all attempts", () => {
  const { take, takeNames, call, accept } = openFull({ perWorkspace: 1, total: 8 }, namesOf(8), 5);
  for (const { position } of take()) call("fail", position, REFUSED, true);
  expect(takeNames()).toHaveLength(4);
  accept();
  expect(takeNames()).toEqual(["other"]);
});
