import { beforeAll, expect, test } from "vitest";
import { stackOf } from "../../dist/provider/fleet/placement.js";
import type { FleetReport } from "pulumi-apichat/fleet";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { createFleetFolder, type FleetFolder } from "../support/fleet-folder.ts";
import { callsOf, openScene, webhookUrlOf, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

const UP = ["up", "--stacks-at-once", "1"] as const;
const NAMES = Array.from({ length: 8 }, (_, index) => `workspace-${String(index + 1).padStart(2, "0")}`);
const FLEET = { name: "held", stacks: 2 };
/** The workspaces of the second and last stack. Its up begins when the first stack's up has finished. */
const HELD = NAMES.filter((name) => stackOf(name, 2) === 1);

let scene: Scene;
let folder: FleetFolder;

beforeAll(async () => {
  scene = await openScene(NAMES);
  folder = await createFleetFolder(scene, {
    urls: Object.fromEntries(NAMES.map((name) => [name, webhookUrlOf(scene, name)])),
    key: 'process.env.WEBHOOK_KEY ?? ""',
    environment: { WEBHOOK_KEY: VERIFICATION_KEY },
  });
  await folder.define(FLEET);
});

const run = async (...parameters: string[]): Promise<string> => {
  const { exitCode, output, stdout } = await folder.start(...parameters).done;
  expect(exitCode, output).toBe(0);
  return stdout;
};

test("after Ctrl-C, calls in progress are completed and recorded, and the next up does the rest", async () => {
  for (const workspace of HELD) {
    scene.emulator.injectFault({ operation: "set-webhook", workspace, fault: { delayMs: 3000 } });
  }
  const command = folder.start(...UP, "--skip-plan", "--yes");
  const isHeld = (name: string): boolean =>
    callsOf(scene, "set-webhook", name).some(({ response }) => response === null);
  await command.until(() => command.output().includes(": done in") && HELD.filter(isHeld).length >= 2);
  command.interrupt();
  const { exitCode, stdout } = await command.done;
  expect(exitCode).toBe(130);
  expect(stdout).toContain("Fleet held, up: stopped");
  expect(await folder.locks()).toEqual([]);
  expect(await command.processes()).toEqual([]);

  // The emulator completes the calls that it has received, even if no client waits for their responses any more.
  await expect.poll(() => HELD.filter(isHeld)).toEqual([]);
  scene.emulator.clearFaults();
  const report = JSON.parse(await run(...UP, "--skip-plan", "--yes", "--json")) as FleetReport;
  expect(report).toMatchObject({ outcome: "done", failures: [], skipped: [] });
  const accepted = NAMES.map((name) =>
    callsOf(scene, "set-webhook", name).filter(({ response }) => response?.status === 200),
  );
  expect(accepted.map(({ length }) => length)).toEqual(NAMES.map(() => 1));
  expect(findSecrets(folder.printed(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
});
