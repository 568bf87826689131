import { ApiChatError } from "../errors/index.js";
import type { CheckResult, DiffResult, RawInputs } from "../lib/checks.js";
import { printLine, printWarning, report } from "../lib/provider-process.js";
import { readInstance, requestReload, type ServerStatus } from "../server/control-client.js";
import { authorityOf, choosePort, originOf, portOfId } from "./addresses.js";
import { check, diff } from "./check.js";
import {
  configuredPort,
  digestOf,
  formatConfig,
  cleanUpDataDir,
  otherOwnerOf,
  prepareDataDir,
  readConfig,
  siblingsOf,
  takeDataDir,
  writeConfig,
} from "./data-folder.js";
import { otherNameOf, rememberedPort, rememberPort } from "./declared.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { thisMachine } from "./origin.js";
import {
  endLostProcess,
  findRunning,
  isAlive,
  processError,
  startProcess,
  stopProcess,
  type Running,
} from "./process.js";

const GONE: Record<string, never> = {};

/** The lifecycle of a responder's process, in the form that the SDK's dynamic provider calls. */
export const ResponderProcess = {
  check: (olds: Partial<ProcessInputs> | undefined, news: RawInputs): Promise<CheckResult<ProcessInputs>> =>
    report(news.name, () => check(olds, news)),

  diff: (id: string, olds: ProcessState, news: ProcessInputs): Promise<DiffResult> =>
    report(news.name, async () => diff(id, olds, news)),

  create: (inputs: ProcessInputs): Promise<{ id: string; outs: ProcessState }> =>
    report(inputs.name, () => createProcess(inputs)),

  /** An empty result tells the engine that the process is gone. The inputs stay those of the last `up`. */
  read: (id: string, props: ProcessState): Promise<{ id: string; props: ProcessState } | typeof GONE> =>
    report(props.name, async () => {
      const seen = await readProcess(props);
      return seen ? { id, props: seen } : GONE;
    }),

  update: (id: string, olds: ProcessState, news: ProcessInputs): Promise<{ outs: ProcessState }> =>
    report(news.name, () => updateProcess(id, olds, news)),

  delete: (_id: string, props: ProcessState): Promise<void> => report(props.name, () => deleteProcess(props)),
};

/**
 * Starts the process, or adopts the one that runs on the folder already: an earlier run was ended between two steps. It
 * listens where the program says, else where it did before, else on any free port.
 */
async function createProcess(inputs: ProcessInputs): Promise<{ id: string; outs: ProcessState }> {
  const { name, dataDir } = inputs;
  // The state of a process that a refresh found gone, or that this run stopped.
  const former = configuredPort(dataDir) || rememberedPort(dataDir) || 0;
  const { status, wasRunning } = await applyInputs(
    inputs,
    (running) => inputs.port || running || former,
  ).catch(async (error: unknown) => {
    throw (await findAddressConflict(inputs)) ?? error;
  });
  if (wasRunning) printLine(name, `adopted the responder that runs on ${dataDir} already, pid ${status.pid}`);
  return { id: authorityOf(status.host, status.port), outs: toState(inputs, status) };
}

/**
 * The error of a create whose address is used by a responder of this stack, most likely the same resource under its
 * former name.
 */
async function findAddressConflict(inputs: ProcessInputs): Promise<ApiChatError | undefined> {
  const { host, port = 0 } = inputs;
  const siblings = await siblingsOf(inputs);
  for (const { name, dataDir } of siblings.filter((sibling) => sibling.dataDir !== inputs.dataDir)) {
    const other = await readInstance(dataDir);
    const isThere = other !== undefined && originOf(other.host, other.port) === originOf(host, port);
    if (!isThere || !(await isAlive(other))) continue;
    const text =
      `${port} is taken by the responder "${name}" of this stack; ` +
      `if "${inputs.name}" is its new name, give it the alias "${name}", otherwise set another port`;
    return new ApiChatError("conflict", "", { operation: "responder", problems: [{ field: "port", text }] });
  }
  return undefined;
}

/**
 * Inspects whether our process answers. Ended, or another one in its place: undefined, and the next `up` starts it again.
 * If it runs and its folder is gone, the state says so, and the next `up` ends it and starts another one.
 * On another machine nothing can be seen, so the state stays as it is, with a warning.
 */
async function readProcess(state: ProcessState): Promise<ProcessState | undefined> {
  if (state.machine !== thisMachine()) {
    printWarning(
      state.name,
      "the responder was started on another machine, so whether it runs cannot be seen from here; the state stays as it is",
    );
    return state;
  }
  const running = await findRunning(state.dataDir);
  const { isLost: _, ...known } = state;
  if (running?.status.instance === state.instance) {
    const { host, port, pid } = running.status;
    return { ...known, host, port, pid };
  }
  if (!(await isAlive(state))) return undefined;
  printWarning(
    state.name,
    `the responder runs (pid ${state.pid}), but its folder ${state.dataDir} was removed; pulumi up starts it again, and what it has not forwarded by then is lost`,
  );
  return { ...known, isLost: true };
}

/**
 * Applies the program's settings to the process: a new host or port needs a restart, anything else is applied without
 * one and without a refused request. A process that has ended is started again on the same port. A changed folder is a
 * move: deliveries that were not forwarded stay in the old one, with a warning.
 */
async function updateProcess(
  id: string,
  state: ProcessState,
  inputs: ProcessInputs,
): Promise<{ outs: ProcessState }> {
  const { name } = inputs;
  const port = choosePort(inputs.port, portOfId(id));
  if (state.machine !== thisMachine()) {
    const { status } = await applyInputs(inputs, () => port, state);
    const left = `the old process keeps running until it is stopped there (pid ${state.pid}, ${state.dataDir})`;
    printWarning(
      name,
      `the responder was running on another machine and was now started on this one; ${left}`,
    );
    return { outs: toState(inputs, status) };
  }
  const wasLost = await endIfLost(state);
  if (state.dataDir !== inputs.dataDir) {
    const { status, isFree } = await moveProcess(state, inputs, port);
    if (isFree && otherNameOf(state.dataDir, name) === undefined) await leave({ ...state, name });
    return { outs: toState(inputs, status) };
  }
  const { status, wasRunning } = await applyInputs(inputs, () => port, state);
  const what = wasLost ? "the responder had lost its folder" : "the responder had ended";
  if (!wasRunning) printLine(name, `${what}; started again, pid ${status.pid}`);
  return { outs: toState(inputs, status) };
}

/** Stops our process if its folder no longer announces it. Returns whether there was one. */
async function endIfLost(state: ProcessState): Promise<boolean> {
  const announced = await readInstance(state.dataDir);
  return announced?.instance !== state.instance && endLostProcess(state);
}

/**
 * Ends our process and removes its files. Ended already is done. A process that is not ours is left as it is, one on
 * another machine too, each with a warning. One that another resource has taken over stays. Deliveries that were not
 * forwarded stay on disk.
 */
async function deleteProcess(state: ProcessState): Promise<void> {
  const { name, dataDir, machine, pid, instance } = state;
  if (machine !== thisMachine()) {
    return printWarning(
      name,
      `the responder was started on another machine and is not ended from here; there, end the process ${pid} and remove ${dataDir}`,
    );
  }
  if (await endIfLost(state)) {
    rememberPort(dataDir, state.port);
    printWarning(
      name,
      `the folder ${dataDir} was removed while the responder ran; what was not forwarded is lost`,
    );
  }
  const other = otherOwnerOf(state);
  if (other !== undefined) {
    return printLine(name, `the responder stays: its folder ${dataDir} belongs to ${other} now`);
  }
  const announced = await readInstance(dataDir);
  if (announced?.instance === instance) {
    rememberPort(dataDir, announced.port);
    await stopProcess(dataDir, announced);
  } else {
    const running = await findRunning(dataDir);
    if (running !== undefined) {
      const whose = `another responder runs on ${dataDir} now (pid ${running.status.pid})`;
      return printWarning(name, `${whose}; it keeps running`);
    }
  }
  await leave(state);
}

async function leave(state: ProcessState): Promise<void> {
  const warning = await cleanUpDataDir(state);
  if (warning !== undefined) printWarning(state.name, warning);
}

const toState = (inputs: ProcessInputs, { host, port, pid, instance }: ServerStatus): ProcessState => ({
  ...inputs,
  host,
  port,
  pid,
  instance,
  machine: thisMachine(),
  stateVersion: 1,
});

/** The process after its configuration was applied. */
interface Applied {
  status: ServerStatus;
  /** Whether it ran before. */
  wasRunning: boolean;
}

/**
 * Applies the inputs to the process of a folder: a running process is reloaded, or restarted if its host or port
 * changes; otherwise a new one is started. `toPort` receives the port of the running process. On failure, the previous
 * configuration is restored, and a process that was stopped is started again.
 */
async function applyInputs(
  inputs: ProcessInputs,
  toPort: (running: number | undefined) => number,
  former?: ProcessState,
): Promise<Applied> {
  const { dataDir } = inputs;
  await prepareDataDir(inputs, former);
  const before = readConfig(dataDir);
  const running = await findRunning(dataDir);
  const port = toPort(running?.status.port);
  const stays = running?.status.host === inputs.host && running.status.port === port;
  try {
    if (running && !stays) await stopProcess(dataDir, running.instance);
    const status = running && stays ? await reload(running, inputs, port) : await start(inputs, port);
    await takeDataDir(inputs);
    return { status, wasRunning: running !== undefined };
  } catch (error) {
    await writeConfig(dataDir, before);
    throw running && !stays ? await startAgain(inputs, running.instance.instance, error) : error;
  }
}

/**
 * Ends our process on its former folder and starts it on the new one: it needs the port. If that fails, the former one is
 * started again. `isFree`: nobody runs on the former folder now.
 */
async function moveProcess(
  state: ProcessState,
  inputs: ProcessInputs,
  port: number,
): Promise<Applied & { isFree: boolean }> {
  const { dataDir, instance } = state;
  // What can be wrong with the new folder is found before anything ends.
  await prepareDataDir(inputs);
  const announced = await readInstance(dataDir);
  const isOurs = announced?.instance === instance && otherOwnerOf(state) === undefined;
  const isFree = isOurs || (await findRunning(dataDir)) === undefined;
  if (isOurs) await stopProcess(dataDir, announced);
  try {
    return { ...(await applyInputs(inputs, () => port)), isFree };
  } catch (error) {
    throw isOurs ? await startAgain(state, instance, error) : error;
  }
}

/** Starts the process that ran before a failure. Returns the failure to throw, which says so if that fails, too. */
async function startAgain(
  { dataDir, workspaces }: ProcessInputs,
  instance: string,
  failure: unknown,
): Promise<unknown> {
  try {
    // A process that could not be stopped is still running.
    if (await findRunning(dataDir)) return failure;
    await startProcess({ dataDir, instance, workspaces });
    return failure;
  } catch (error) {
    if (!(failure instanceof ApiChatError && error instanceof ApiChatError)) return failure;
    const more = `the former one could not be started again: ${error.message}`;
    return failure.with({ details: [...(failure.details ?? []), more] });
  }
}

async function start(inputs: ProcessInputs, port: number): Promise<ServerStatus> {
  await writeConfig(inputs.dataDir, formatConfig(inputs, port));
  const running = await startProcess(inputs);
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
  const { pid } = status;
  throw processError(
    "protocol",
    `the responder (pid ${pid}) runs with another configuration than that of ${inputs.dataDir}`,
    { hints: [{ id: "end_process", pid }] },
  );
}
