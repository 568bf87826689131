import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createProject, type Project, type Run } from "../support/project.ts";
import {
  callsOf,
  findLeaks,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { requireSuccess } from "../support/stack.ts";

const HOUR_MS = 3_600_000;
const up = ["up", "--yes", "--skip-preview"] as const;

/** In one of them the service has made the change before the kill, in the other it has not. */
const names = ["changed", "unchanged"];

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

  const nextUrl = (name: string): string => `${scene.endpoint.url}/next/${name}`;
  const next = (): Declaration[] =>
    names.map((workspace) => ({ workspace, args: { webhookUrl: nextUrl(workspace) } }));

  /** Starts an up, and waits until the service holds the set-webhook of every workspace. */
  const startHeld = async (delayMs = HOUR_MS): Promise<Run> => {
    const before = callsOf(scene, "set-webhook").length;
    for (const workspace of names) {
      const fault = { delayMs, afterChange: workspace === "changed" };
      scene.emulator.injectFault({ operation: "set-webhook", workspace, fault });
    }
    const run = project.start(...up);
    await vi.waitUntil(() => callsOf(scene, "set-webhook").length === before + names.length, {
      timeout: 60_000,
    });
    return run;
  };

  const killHeld = async (): Promise<void> => {
    const run = await startHeld();
    // The change is made just after the request is recorded.
    await vi.waitUntil(() => isChanged(), { timeout: 10_000 });
    await run.killEverything();
    expect(await run.done).toMatchObject({ ok: false });
    scene.emulator.clearFaults();
  };
  let isChanged = (): boolean => registeredWorkspaces(scene).includes("changed");

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

  const registeredUrls = (): (string | undefined)[] =>
    names.map((name) => scene.emulator.workspace(name).registration?.webhook_url);

  test("kill -9 of everything during create: the documented way back converges", async () => {
    await project.declare(names);
    await killHeld();
    expect(registeredWorkspaces(scene)).toEqual(["changed"]);
    await recover();
    expect(registeredUrls()).toEqual(names.map((name) => webhookUrlOf(scene, name)));
    // What the service had done is adopted: its first set-webhook was its last.
    expect(callsOf(scene, "set-webhook", "changed")).toHaveLength(1);
    expect(callsOf(scene, "set-webhook", "unchanged")).toHaveLength(2);
    expect(await findLeaks([project])).toEqual([]);
  });

  test("kill -9 of everything during update: the same", async () => {
    await project.declare(next());
    isChanged = () => scene.emulator.workspace("changed").registration?.webhook_url === nextUrl("changed");
    await killHeld();
    expect(registeredUrls()).toEqual([nextUrl("changed"), webhookUrlOf(scene, "unchanged")]);
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
    expect(registeredUrls()).toEqual(names.map((name) => webhookUrlOf(scene, name)));
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

  test("destroy then leaves no orphan, and no secret was printed", async () => {
    expect(await findLeaks([project])).toEqual([]);
    requireSuccess(await project.run("destroy", "--yes", "--skip-preview"));
    expect(registeredWorkspaces(scene)).toEqual([]);
  });
});
