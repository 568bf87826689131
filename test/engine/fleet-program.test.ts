import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { openFleetScene, type FleetScene } from "../support/fleet.ts";
import { registeredWorkspaces } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

/** The first has an API key in the list. */
const NAMES = ["acme-10", "globex"];

describe("the program of a fleet with a mistake", () => {
  let scene: FleetScene;
  const up = async (file: string) => {
    const program = new URL(`../fixtures/fleet/${file}`, import.meta.url);
    return scene.withFleet(NAMES, (fleet) => fleet.up(), { program });
  };

  beforeAll(async () => {
    scene = await openFleetScene(NAMES, { name: "mistakes", stacks: 1 });
  });

  test.each([
    ["without-program.js", /default export/],
    ["throwing.js", /no such table, asked with \[redacted\]/],
    ["exiting.js", /exit code 3: Error: the licence has ended/],
  ])("%s: the failure says what is wrong, without a secret", async (file, message) => {
    const report = await up(file);
    expect(report).toMatchObject({
      outcome: "failed",
      failures: [{ message: expect.stringMatching(message) as string }],
    });
    expect(findSecrets(JSON.stringify(report), [API_KEY])).toEqual([]);
  });

  test("a workspace that it forgets keeps its webhook, and is named", async () => {
    expect(await up("program.js")).toMatchObject({ outcome: "done", failures: [] });
    const report = await up("incomplete.js");
    expect(report).toMatchObject({ outcome: "failed", failures: [{ workspace: NAMES[0] }] });
    expect(registeredWorkspaces(scene)).toEqual(NAMES);
  });
});
