import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, vi } from "vitest";
import { ResponderLifecycle } from "../../dist/provider/handshake-responder/lifecycle.js";
import type { ProcessInputs, ProcessState } from "../../dist/provider/handshake-responder/inputs.js";
import { freePort } from "../support/http.js";
import { processesNaming } from "../../tools/lib/processes.ts";
import { argsOf, isolateRuns, KEY } from "../support/responder-runs.js";
import { deliverTo } from "../support/responder.js";

/**
 * Runs the lifecycle in this process, with real responders. test/engine/handshake-responder.test.ts uses the engine.
 */
export const run = isolateRuns();

let responders: ResponderLifecycle;

/** Starts the next run of the engine, in which nothing is declared yet. */
export const startRun = (): void => void (responders = new ResponderLifecycle());
beforeEach(startRun);

export type Values = Record<string, unknown>;

export interface Created {
  id: string;
  outs: ProcessState;
}

export async function checked(more: Values = {}, olds: Partial<ProcessInputs> = {}): Promise<ProcessInputs> {
  const { inputs, failures } = await responders.check(olds, argsOf(more));
  expect(failures).toEqual([]);
  return inputs;
}

export const create = async (more: Values = {}): Promise<Created> => responders.create(await checked(more));

/** Uses a port that the system does not assign while the responder is down. */
export const createAtFixedPort = async (more: Values = {}): Promise<Created> =>
  create({ port: await freePort(), ...more });

export async function update({ id, outs }: Created, more: Values = {}): Promise<Created> {
  return { id, outs: (await responders.update(id, outs, await checked(more, outs))).outs };
}

/** The state after a refresh; undefined if the process is gone. */
export const read = async ({ id, outs }: Created): Promise<ProcessState | undefined> =>
  (await responders.read(id, outs)).props;

export const destroy = ({ id, outs }: Created): Promise<void> => responders.delete(id, outs);

export const diff = async ({ id, outs }: Created, more: Values): Promise<boolean> => {
  const { changes } = await responders.diff(id, outs, await checked(more, outs));
  return changes;
};

/** Returns the failure of a step. */
export const failureOf = (work: Promise<unknown>): Promise<Error & { code?: string }> =>
  work.then(
    (value) => expect.fail(`it succeeded with ${JSON.stringify(value)}`),
    (error: Error) => error,
  );

export const deliver = ({ outs }: Created, key = KEY): Promise<number> =>
  deliverTo(`http://127.0.0.1:${outs.port}/acme`, key);

export const readConfig = ({ outs }: Created): Promise<string> =>
  readFile(join(outs.dataDir, "config.json"), "utf8");

const pidsOf = async (text = run.folder): Promise<number[]> =>
  (await processesNaming(text)).map(({ pid }) => pid);

/** A process ends a moment after it has released its folder. */
export const expectPids = (pids: unknown): Promise<void> =>
  expect.poll(() => pidsOf(), { timeout: 10_000 }).toEqual(pids);

export async function end({ outs }: Created, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  process.kill(outs.pid, signal);
  await vi.waitUntil(async () => (await pidsOf(outs.instance)).length === 0);
}

export const expectGone = (folder: string): Promise<void> =>
  expect(readdir(folder)).rejects.toMatchObject({ code: "ENOENT" });
