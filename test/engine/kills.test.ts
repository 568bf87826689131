import { isDeepStrictEqual } from "node:util";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Command } from "../support/command.ts";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginFolder } from "../support/plugin.ts";
import { signalIfAlive, type ProcessInfo } from "../../tools/lib/processes.ts";
import { createProject, createYamlProject, type Project } from "../support/program-folder.ts";
import {
  callsOf,
  expectNoSecrets,
  openScene,
  readTree,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Scene,
} from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

const HOUR_MS = 3_600_000;
const up = ["up", "--yes", "--skip-preview"] as const;
/** Timeouts longer than any test. */
const timeouts = { requestSeconds: 3600, readySeconds: 3600 };
const cancel = ["cancel", "--yes"] as const;
const clear = ["refresh", "--yes", "--skip-preview", "--clear-pending-creates"] as const;

/** The workspaces whose webhook the service sets before the run is interrupted. */
const changed = ["changed-1", "changed-2"];
const unchanged = ["unchanged-1", "unchanged-2"];
const names = [...changed, ...unchanged];

/**
 * On Ctrl-C, the plugin ends its calls at once; the dynamic provider's process receives no Ctrl-C, so the engine
 * waits for its calls. A kill has the same effect with both, so each kill is tested with only one of them.
 */
const doors = [
  { door: "the dynamic provider", create: createProject, endsAtOnce: false, killed: "the engine" },
  { door: "the plugin", create: createYamlProject, endsAtOnce: true, killed: "the provider" },
];

/**
 * The run's processes without the engine's language host: the host makes no calls, and may end late, because it
 * checks only every five minutes whether the engine is running.
 */
const callersOf = async (run: Command): Promise<unknown[]> =>
  (await run.processes()).filter(({ commandLine: [command = ""] }) => !command.includes("pulumi-language-"));

const isProvider = ({ commandLine }: ProcessInfo): boolean =>
  commandLine.some((word) => word.startsWith(pluginFolder));

describe.each(doors)("a run with $door, interrupted during set-webhook", ({ create, endsAtOnce, killed }) => {
  let scene: Scene;
  let project: Project;
  let temporary: string;

  beforeAll(async () => {
    scene = await openScene(names);
    temporary = join(scene.backend.folder, "temporary");
    await mkdir(temporary);
    project = await create(scene, { TMPDIR: temporary });
  });

  const firstUrl = (name: string): string => webhookUrlOf(scene, name);
  const nextUrl = (name: string): string => `${scene.endpoint.url}/next/${name}`;
  const declare = (urlOf: typeof nextUrl): Promise<void> =>
    project.declare(
      names.map((workspace) => ({ workspace, args: { timeouts, webhookUrl: urlOf(workspace) } })),
    );
  const registeredUrls = (of = names): (string | undefined)[] =>
    of.map((name) => scene.emulator.workspace(name).registration?.webhook_url);

  /**
   * Starts an up. Waits until the emulator has received set-webhook for every workspace, and has set the webhooks
   * of `changed`. Then the up waits for the responses, which the emulator delays.
   */
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

  /** Recovers with the documented commands. The webhooks of `changed` must be adopted, not set again. */
  const recover = async (urlOf: typeof nextUrl, ...commands: (readonly string[])[]): Promise<void> => {
    scene.emulator.clearFaults();
    const before = scene.emulator.requests.length;
    for (const command of commands) await project.run(...command);
    expect(registeredUrls()).toEqual(names.map(urlOf));
    expect(writesSince(scene, before)).toEqual(unchanged.map((name) => `set-webhook ${name}`));
  };

  test(`kill -9 of ${killed} ends all calls, and the documented steps repair the stack`, async () => {
    const run = await startHeld(firstUrl);
    const processes = await run.processes();
    const isEngine = killed === "the engine";
    if (isEngine) run.kill();
    else for (const { pid } of processes.filter(isProvider)) signalIfAlive(pid, "SIGKILL");
    await expect.poll(() => callersOf(run), { timeout: 120_000 }).toEqual([]);
    expect((await run.done).exitCode).not.toBe(0);
    const commandLines = processes.map(({ commandLine }) => commandLine.join(" "));
    const left = [...(await readTree(temporary)).values()];
    expect(findSecrets([...left, ...commandLines].join("\n"), [API_KEY, VERIFICATION_KEY])).toEqual([]);
    expect(registeredWorkspaces(scene)).toEqual(changed);
    // If only the provider was killed, the engine has released its lock, so `cancel` is not needed.
    await recover(firstUrl, ...(isEngine ? [cancel, up, clear] : [up]));
  });

  test("after Ctrl-C, the dynamic provider completes calls and the plugin aborts them; no lock is left", async () => {
    const run = await startHeld(nextUrl, endsAtOnce ? HOUR_MS : 3000);
    run.interrupt();
    expect((await run.done).exitCode).not.toBe(0);
    expect(await project.state()).not.toMatch(/"pending_operations":\s*\[\s*\{/);
    if (endsAtOnce) await recover(nextUrl, up);
    expect(registeredUrls()).toEqual(names.map(nextUrl));
    await expectNoSecrets(project);
  });
});
