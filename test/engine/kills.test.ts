import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import type { Command } from "../support/command.ts";
import { createProject, type Project } from "../support/program-folder.ts";
import {
  callsOf,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Scene,
} from "../support/scene.ts";

const HOUR_MS = 3_600_000;
const up = ["up", "--yes", "--skip-preview"] as const;
const cancel = ["cancel", "--yes"] as const;
const clear = ["refresh", "--yes", "--skip-preview", "--clear-pending-creates"] as const;

/** In these the service has made the change before the kill, in the others it has not. */
const changed = ["changed-1", "changed-2"];
const unchanged = ["unchanged-1", "unchanged-2"];
const names = [...changed, ...unchanged];

/** All but the language host: it is the engine's own, calls nobody, and looks for the engine every five minutes. */
const callersOf = async (run: Command): Promise<unknown[]> =>
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
  const declare = (urlOf: typeof nextUrl): Promise<void> =>
    project.declare(names.map((workspace) => ({ workspace, args: { webhookUrl: urlOf(workspace) } })));
  const registeredUrls = (of = names): (string | undefined)[] =>
    of.map((name) => scene.emulator.workspace(name).registration?.webhook_url);

  /** Starts an up, and waits until the service holds the set-webhook of every workspace, and has changed what it should. */
  const startHeld = async (urlOf: typeof nextUrl, delayMs = HOUR_MS): Promise<Command> => {
    await declare(urlOf);
    const before = callsOf(scene, "set-webhook").length;
    for (const workspace of names) {
      const fault = { delayMs, afterChange: changed.includes(workspace) };
      scene.emulator.injectFault({ operation: "set-webhook", workspace, fault });
    }
    const run = project.start(...up);
    const isHeld = () => callsOf(scene, "set-webhook").length === before + names.length;
    await run.until(() => isHeld() && isDeepStrictEqual(registeredUrls(changed), changed.map(urlOf)));
    return run;
  };

  /** The way back that the documentation names. What the service had done is adopted: its first set-webhook was its last. */
  const recover = async (urlOf: typeof nextUrl, ...commands: (readonly string[])[]): Promise<void> => {
    scene.emulator.clearFaults();
    const before = scene.emulator.requests.length;
    for (const command of commands) await project.run(...command);
    expect(registeredUrls()).toEqual(names.map(urlOf));
    expect(writesSince(scene, before)).toEqual(unchanged.map((name) => `set-webhook ${name}`));
  };

  test("kill -9 of the engine during create: its provider ends, the stack is locked, the documented way back converges", async () => {
    const run = await startHeld(firstUrl);
    run.kill();
    await expect.poll(() => callersOf(run), { timeout: 120_000 }).toEqual([]);
    await run.done;
    expect(registeredWorkspaces(scene)).toEqual(changed);
    expect(await project.fails(...up)).toContain("locked");
    await recover(firstUrl, cancel, up, clear);
  });

  test("kill -9 of everything during update: the same converges", async () => {
    const run = await startHeld(nextUrl);
    await run.killEverything();
    await run.done;
    expect(registeredUrls()).toEqual([...changed.map(nextUrl), ...unchanged.map(firstUrl)]);
    await recover(nextUrl, cancel, up);
  });

  test("one Ctrl-C: the engine waits for the running call and records it, and leaves no lock", async () => {
    const run = await startHeld(firstUrl, 3000);
    run.interrupt();
    expect((await run.done).exitCode).not.toBe(0);
    expect(registeredUrls()).toEqual(names.map(firstUrl));
    expect(await project.run("preview", "--refresh", "--expect-no-changes")).not.toContain("pending");
    await expectNoSecrets(project);
  });
});
