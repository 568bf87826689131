import { ApiChatError } from "../errors/index.js";
import { readInstance, requestReload, type Instance, type ServerStatus } from "../server/control-client.js";
import { digestOf, formatConfig, prepareDataDir, readConfig, writeConfig } from "./data-folder.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { findRunning, processError, startProcess, stopProcess, type Running } from "./process.js";

/** The process after it was brought to its configuration. */
export interface Applied {
  status: ServerStatus;
  /** Whether it ran before. */
  wasRunning: boolean;
}

/**
 * Brings the process of a folder to what the program says: one that runs takes it over, or is stopped and started again if
 * it is to listen elsewhere; else one is started. `choosePort` gets the port of the one that runs. If it fails, the
 * configuration is the one from before, and the process that ran runs again.
 */
export async function applyInputs(
  inputs: ProcessInputs,
  choosePort: (running: number | undefined) => number,
  former?: ProcessState,
): Promise<Applied> {
  const { dataDir } = inputs;
  await prepareDataDir(inputs, former);
  const before = readConfig(dataDir);
  const running = await findRunning(dataDir);
  const port = choosePort(running?.status.port);
  const stays = running?.status.host === inputs.host && running.status.port === port;
  try {
    if (running && !stays) await stopProcess(dataDir, running.instance);
    const status = running && stays ? await reload(running, inputs, port) : await start(inputs, port);
    return { status, wasRunning: running !== undefined };
  } catch (error) {
    await writeConfig(dataDir, before);
    throw running && !stays ? await startAgain(inputs, running.instance, error) : error;
  }
}

/**
 * Ends our process on its former folder and starts it on the new one: it needs the port. If that fails, the former one is
 * started again. `isFree`: nobody runs on the former folder now.
 */
export async function moveProcess(
  state: ProcessState,
  inputs: ProcessInputs,
  port: number,
): Promise<Applied & { isFree: boolean }> {
  const { dataDir, instance } = state;
  // What can be wrong with the new folder is found before anything ends.
  await prepareDataDir(inputs);
  const announced = await readInstance(dataDir);
  const isOurs = announced?.instance === instance;
  const isFree = isOurs || (await findRunning(dataDir)) === undefined;
  if (isOurs) await stopProcess(dataDir, announced);
  try {
    return { ...(await applyInputs(inputs, () => port)), isFree };
  } catch (error) {
    throw isOurs ? await startAgain(state, state, error) : error;
  }
}

/** Starts the process that ran before a failure. Gives the failure to throw, which says so if that fails too. */
async function startAgain(
  { dataDir, verificationKeys }: Pick<ProcessInputs, "dataDir" | "verificationKeys">,
  { instance }: Pick<Instance, "instance">,
  failure: unknown,
): Promise<unknown> {
  try {
    // One that could not be stopped still runs.
    if (await findRunning(dataDir)) return failure;
    await startProcess({ dataDir, instance, secrets: Object.values(verificationKeys).flat() });
    return failure;
  } catch (error) {
    if (!(failure instanceof ApiChatError && error instanceof ApiChatError)) return failure;
    const summary = `${failure.summary}. The former one could not be started again: ${error.summary}`;
    return failure.with({ summary });
  }
}

async function start(inputs: ProcessInputs, port: number): Promise<ServerStatus> {
  await writeConfig(inputs.dataDir, formatConfig(inputs, port));
  const secrets = Object.values(inputs.verificationKeys).flat();
  const running = await startProcess({ dataDir: inputs.dataDir, secrets });
  try {
    // Written with the port that it got, so that the next start takes the same one.
    return port === 0 ? await reload(running, inputs, running.status.port) : running.status;
  } catch (error) {
    await stopProcess(running.dataDir, running.instance);
    throw error;
  }
}

async function reload(running: Running, inputs: ProcessInputs, port: number): Promise<ServerStatus> {
  const config = formatConfig(inputs, port);
  await writeConfig(inputs.dataDir, config);
  const status = await requestReload(running.instance);
  if (status.configDigest === digestOf(config)) return status;
  throw processError(
    "protocol",
    `the responder (pid ${status.pid}) runs with another configuration than that of ${inputs.dataDir}; end it if it was started by hand, and try again`,
  );
}
