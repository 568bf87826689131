import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";
import { endProcessesNaming } from "../../tools/lib/processes.ts";
import { catchLines } from "./lines.ts";

export const KEY = "vk/acme+test=&<secret>\"ü'-0123456789";
export const OTHER_KEY = "vk/other+test=&<secret>\"ü'-0123456789";

export type Values = Record<string, unknown>;

export interface Run {
  /** The test's own folder; processes that name it are ended after the test. */
  folder: string;
  /** The lines that were printed. */
  lines: string[];
}

/** Runs each test with a new state folder, and without the environment variable `CI`. */
export function isolateRuns(): Run {
  const run: Run = { folder: "", lines: catchLines() };
  beforeEach(async () => {
    run.folder = await realpath(await mkdtemp(join(tmpdir(), "pulumi-apichat-responder-")));
    vi.stubEnv("CI", undefined);
    vi.stubEnv("XDG_STATE_HOME", run.folder);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await endProcessesNaming(run.folder);
    await rm(run.folder, { recursive: true, force: true, maxRetries: 3 });
  });
  return run;
}

/** The workspace acme, with its key. */
export const acme = (more: Values = {}): { workspaces: { acme: Values } } => ({
  workspaces: { acme: { path: "/acme", verificationKeys: [KEY], ...more } },
});

/** The component's arguments for the workspace acme. */
export const argsOf = (more: Values = {}): Values & { name: string } => ({
  name: "chat",
  instanceKey: "project/dev/chat",
  ...acme(),
  ...more,
});
