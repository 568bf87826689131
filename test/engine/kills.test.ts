import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createProject, type Project, type Run } from "../support/project.ts";
import type { ProcessInfo } from "../support/processes.ts";
import {
  callsOf,
  findLeaks,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { requireSuccess } from "../support/stack.ts";

const HOUR_MS = 3_600_000;
const up = ["up", "--yes", "--skip-preview"] as const;

/** In these the service has made the change before the kill, in the others it has not. */
const changed = ["changed-1", "changed-2", "changed-3"];
const unchanged = ["unchanged-1", "unchanged-2", "unchanged-3"];
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
  afterAll(async () => {
    await project.remove();
    await scene.close();
  });

  const firstUrl = (name: string): string => webhookUrlOf(scene, name);
  const nextUrl = (name: string): string => `${scene.endpoint.url}/next/${name}`;
  const next = (): Declaration[] =>
    names.map((workspace) => ({ workspace, args: { webhookUrl: nextUrl(workspace) } }));

  /** Starts an up, and waits until the service holds the set-webhook of every workspace. */
  const startHeld = async (delayMs = HOUR_MS): Promise<Run> => {
    const before = callsOf(scene, "set-webhook").length;
    for (const workspace of names) {
      const fault = { delayMs, afterChange: changed.includes(workspace) };
      scene.emulator.injectFault({ operation: "set-webhook", workspace, fault });
    }
    const run = project.start(...up);
    await vi.waitUntil(() => callsOf(scene, "set-webhook").length === before + names.length, {
      timeout: 60_000,
    });
    return run;
  };

  const killHeld = async (
    expectedUrl: typeof nextUrl,
    kill = (run: Run): Promise<void> => run.killEverything(),
  ): Promise<void> => {
    const run = await startHeld();
    // The change is made just after the request is recorded.
    const urls = changed.map(expectedUrl);
    await vi.waitUntil(() => isDeepStrictEqual(registeredUrls(changed), urls), { timeout: 10_000 });
    await kill(run);
    expect(await run.done).toMatchObject({ ok: false });
    scene.emulator.clearFaults();
  };

  /** The way back that the README names. */
  const recover = async (): Promise<void> => {
    const locked = await project.run(...up);
    expect(locked.ok).toBe(false);
    expect(locked.output).toContain("the stack is currently locked");
    for (const command of [
      ["cancel", "--yes"],
      up,
      ["refresh", "--yes", "--skip-preview", "--clear-pending-creates"],
    ]) {
      requireSuccess(await project.run(...command));
    }
    await expectConverged();
  };

  const expectConverged = async (): Promise<void> => {
    const preview = await project.run("preview", "--refresh", "--expect-no-changes");
    requireSuccess(preview);
    expect(preview.output).not.toContain("pending");
    expect(registeredWorkspaces(scene)).toEqual(names);
  };

  const registeredUrls = (of = names): (string | undefined)[] =>
    of.map((name) => scene.emulator.workspace(name).registration?.webhook_url);

  test("kill -9 of everything during create: the documented way back converges", async () => {
    await project.declare(names);
    await killHeld(firstUrl);
    expect(registeredWorkspaces(scene)).toEqual(changed);
    const before = scene.emulator.requests.length;
    await recover();
    expect(registeredUrls()).toEqual(names.map(firstUrl));
    // What the service had done is adopted: its first set-webhook was its last.
    expect(writesSince(scene, before)).toEqual(unchanged.map((name) => `set-webhook ${name}`));
    expect(await findLeaks([project])).toEqual([]);
  });

  test("kill -9 of everything during update: the same", async () => {
    await project.declare(next());
    await killHeld(nextUrl);
    expect(registeredUrls()).toEqual([...changed.map(nextUrl), ...unchanged.map(firstUrl)]);
    await recover();
    expect(registeredUrls()).toEqual(names.map(nextUrl));
    expect(await findLeaks([project])).toEqual([]);
  });

  test("one Ctrl-C: the engine waits for the running call, and leaves no lock", async () => {
    await project.declare(names);
    const run = await startHeld(3000);
    run.interrupt();
    const { ok } = await run.done;
    expect(ok).toBe(false);
    expect(registeredUrls()).toEqual(names.map(firstUrl));
    const again = await project.run(...up);
    requireSuccess(again);
    await expectConverged();
  });

  test("two Ctrl-C during create: the documented way back converges", async () => {
    await project.declare([]);
    requireSuccess(await project.run(...up));
    expect(registeredWorkspaces(scene)).toEqual([]);
    await project.declare(names);
    const run = await startHeld();
    run.interrupt();
    await vi.waitUntil(() => /\^C received/.test(run.output()), { timeout: 10_000 });
    run.interrupt();
    expect(await run.done).toMatchObject({ ok: false });
    scene.emulator.clearFaults();
    await run.killEverything();
    for (const command of [
      ["cancel", "--yes"],
      up,
      ["refresh", "--yes", "--skip-preview", "--clear-pending-creates"],
    ]) {
      requireSuccess(await project.run(...command));
    }
    await expectConverged();
  });

  test("kill -9 of the engine alone: its provider ends with it, and the documented way back converges", async () => {
    await project.declare(next());
    await killHeld(nextUrl, async (run) => {
      run.killEngine();
      await vi.waitUntil(async () => (await callersOf(run)).length === 0, { timeout: 10_000, interval: 20 });
    });
    const before = scene.emulator.requests.length;
    await recover();
    expect(registeredUrls()).toEqual(names.map(nextUrl));
    // By the new run alone.
    expect(writesSince(scene, before)).toEqual(unchanged.map((name) => `set-webhook ${name}`));
  });

  test("destroy then leaves no orphan, and no secret was printed", async () => {
    expect(await findLeaks([project])).toEqual([]);
    requireSuccess(await project.run("destroy", "--yes", "--skip-preview"));
    expect(registeredWorkspaces(scene)).toEqual([]);
  });
});
