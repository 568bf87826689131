import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";
import { ResponderProcess } from "../../../provider/dynamic.js";
import type { ProcessInputs, ProcessState } from "../../../provider/handshake-responder/inputs.js";
import { forgetManaged } from "../../../provider/handshake-responder/managed.js";
import type { CheckResult } from "../../../provider/resource/checks.js";
import { endProcessesNaming } from "../../support/processes.js";

export const KEY = "vk/acme+test=&<secret>\"ü'-0123456789";
export const OTHER_KEY = "vk/other+test=&<secret>\"ü'-0123456789";

type Args = Record<string, unknown>;

export interface Run {
  /** A folder of the test's own; a process that names it does not outlive the test. */
  folder: string;
  /** The lines that were printed. */
  lines: string[];
}

/** Each test is a run of its own, with a state folder of its own, and not on CI. */
export function isolateRuns(): Run {
  const run: Run = { folder: "", lines: [] };
  beforeEach(async () => {
    run.folder = await realpath(await mkdtemp(join(tmpdir(), "pulumi-apichat-responder-")));
    run.lines.length = 0;
    vi.spyOn(console, "log").mockImplementation((line: string) => void run.lines.push(line));
    vi.stubEnv("CI", undefined);
    vi.stubEnv("XDG_STATE_HOME", run.folder);
    forgetManaged();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    await endProcessesNaming(run.folder);
    await rm(run.folder, { recursive: true, force: true, maxRetries: 3 });
  });
  return run;
}

/** What the component passes on for the workspace acme. */
export const argsOf = (more: Args = {}): Args & { name: string } => ({
  name: "chat",
  instanceKey: "project/dev/chat",
  workspaces: { acme: { path: "/acme" } },
  verificationKeys: { acme: [KEY] },
  ...more,
});

export const check = (more: Args = {}, olds: unknown = {}): Promise<CheckResult<ProcessInputs>> =>
  ResponderProcess.check(olds, argsOf(more));

/** The inputs as check leaves them; throws if it finds them wrong. */
export async function checked(more: Args = {}, olds: unknown = {}): Promise<ProcessInputs> {
  const { inputs, failures } = await check(more, olds);
  if (failures.length > 0) throw new Error(JSON.stringify(failures));
  return inputs;
}

export interface Created {
  id: string;
  outs: ProcessState;
}

export const create = async (more: Args = {}): Promise<Created> =>
  ResponderProcess.create(await checked(more));

export async function update({ id, outs }: Created, more: Args = {}): Promise<Created> {
  const updated = await ResponderProcess.update(id, outs, await checked(more, outs));
  return { id, outs: updated.outs };
}

/** What a refresh leaves of it: undefined if it is gone. */
export async function read({ id, outs }: Created): Promise<ProcessState | undefined> {
  return (await ResponderProcess.read(id, outs)).props;
}

export const destroy = ({ id, outs }: Created): Promise<void> => ResponderProcess.delete(id, outs);

/** The failure of a step. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  const outcome: unknown = await work.then(
    (value) => new Error(`it succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`not an error: ${String(outcome)}`);
}
