import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { createProject, type Project, type Run } from "../support/project.ts";
import type { ProcessInfo } from "../support/processes.ts";
import {
  callsOf,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";

const HOUR_MS = 3_600_000;
const up = ["up", "--yes", "--skip-preview"] as const;
const clear = ["refresh", "--yes", "--skip-preview", "--clear-pending-creates"] as const;
/** Ends what would never come; a busy machine needs some of it. */
const patient = { timeout: 120_000, interval: 20 };

/** In these the service has made the change before the kill, in the others it has not. */
const changed = ["changed-1", "changed-2"];
const unchanged = ["unchanged-1", "unchanged-2"];
const names = [...changed, ...unchanged];

/** All but the language host: it is the engine's own, calls nobody, and looks for the engine every five minutes. */
const callersOf = async (run: Run): Promise<ProcessInfo[]> =>
  (await run.processes()).filter(({ commandLine: [command = ""] }) => !command.includes("pulumi-language-"));

describe("a run that ends while set-webhook is on its way", () => {
  let scene: Scene;
  let project: Project;

  beforeAll(async () => {
    scene = await openScene(names);
    project = await createProject(scene);
  });

  const firstUrl = (name: string): string => webhookUrlOf(scene, name);
  const nextUrl = (name: string): string => `${scene.endpoint.url}/next/${name}`;
  const next = (): Declaration[] =>
    names.map((workspace) => ({ workspace, args: { webhookUrl: nextUrl(workspace) } }));
  const registeredUrls = (of = names): (string | undefined)[] =>
    of.map((name) => scene.emulator.workspace(name).registration?.webhook_url);

  /** Starts an up, and waits until the service holds the set-webhook of every workspace, and has changed what it should. */
  const startHeld = async (expectedUrl: typeof nextUrl, delayMs = HOUR_MS): Promise<Run> => {
    const before = callsOf(scene, "set-webhook").length;
    for (const workspace of names) {
      const fault = { delayMs, afterChange: changed.includes(workspace) };
      scene.emulator.injectFault({ operation: "set-webhook", workspace, fault });
    }
    const run = project.start(...up);
    const urls = changed.map(expectedUrl);
    const isHeld = () => callsOf(scene, "set-webhook").length === before + names.length;
    await vi.waitUntil(() => isHeld() && isDeepStrictEqual(registeredUrls(changed), urls), patient);
    return run;
  };

  /** The way back that the documentation names. */
  const recover = async (): Promise<void> => {
    for (const command of [["cancel", "--yes"], up, clear]) await project.run(...command);
    await expectConverged();
  };

  const expectConverged = async (): Promise<void> => {
    expect(await project.run("preview", "--refresh", "--expect-no-changes")).not.toContain("pending");
    expect(registeredWorkspaces(scene)).toEqual(names);
  };

  test("kill -9 of everything during create: the stack is locked, and the documented way back converges", async () => {
    await project.declare(names);
    const run = await startHeld(firstUrl);
    await run.killEverything();
    expect(await run.done).toBe(false);
    scene.emulator.clearFaults();
    expect(registeredWorkspaces(scene)).toEqual(changed);
    const before = scene.emulator.requests.length;
    expect(await project.fails(...up)).toContain("locked");
    await recover();
    expect(registeredUrls()).toEqual(names.map(firstUrl));
    // What the service had done is adopted: its first set-webhook was its last.
    expect(writesSince(scene, before)).toEqual(unchanged.map((name) => `set-webhook ${name}`));
  });

  test("kill -9 of the engine alone during update: its provider ends with it, and the same converges", async () => {
    await project.declare(next());
    const run = await startHeld(nextUrl);
    run.killEngine();
    await vi.waitUntil(async () => (await callersOf(run)).length === 0, patient);
    expect(await run.done).toBe(false);
    scene.emulator.clearFaults();
    expect(registeredUrls()).toEqual([...changed.map(nextUrl), ...unchanged.map(firstUrl)]);
    const before = scene.emulator.requests.length;
    await recover();
    expect(registeredUrls()).toEqual(names.map(nextUrl));
    // By the new run alone.
    expect(writesSince(scene, before)).toEqual(unchanged.map((name) => `set-webhook ${name}`));
  });

  test("one Ctrl-C: the engine waits for the running call, and leaves no lock", async () => {
    await project.declare(names);
    const run = await startHeld(firstUrl, 3000);
    run.interrupt();
    expect(await run.done).toBe(false);
    expect(registeredUrls()).toEqual(names.map(firstUrl));
    await project.run(...up);
    await expectConverged();
  });

  test("two Ctrl-C during create: the documented way back converges", async () => {
    await project.declare([]);
    await project.run(...up);
    expect(registeredWorkspaces(scene)).toEqual([]);
    await project.declare(names);
    const run = await startHeld(firstUrl);
    run.interrupt();
    await vi.waitUntil(() => /\^C received/.test(run.output()), patient);
    run.interrupt();
    expect(await run.done).toBe(false);
    scene.emulator.clearFaults();
    await run.killEverything();
    await recover();
  });

  test("destroy then leaves no orphan, and no secret was printed", async () => {
    await expectNoSecrets(project);
    await project.run("destroy", "--yes", "--skip-preview");
    expect(registeredWorkspaces(scene)).toEqual([]);
  });
});
