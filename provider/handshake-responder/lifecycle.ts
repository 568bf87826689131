import { ApiChatError } from "../errors/index.js";
import type { CheckResult, DiffResult, RawInputs } from "../lib/checks.js";
import { printLine, printWarning } from "../lib/provider-process.js";
import { readInstance, requestReload, type Instance, type ServerStatus } from "../server/control-client.js";
import { authorityOf, choosePort, originOf, portOfId } from "./addresses.js";
import { check, diff } from "./check.js";
import {
  configuredPort,
  digestOf,
  formatConfig,
  cleanUpDataDir,
  otherOwnerOf,
  prepareDataDir,
  siblingsOf,
  readConfig,
  takeDataDir,
  writeConfig,
} from "./data-folder.js";
import { otherNameOf, rememberedPort, rememberPort } from "./declared.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { thisMachine } from "./origin.js";
import {
  findRunning,
  isAlive,
  killProcess,
  processError,
  startProcess,
  stopProcess,
  type StartOptions,
} from "./process.js";

const GONE: Record<string, never> = {};

/** The lifecycle of a responder's process, in the form that the SDK's dynamic provider calls. */
export const ResponderProcess = {
  check: async (
    olds: Partial<ProcessInputs> | undefined,
    news: RawInputs,
  ): Promise<CheckResult<ProcessInputs>> => check(olds, news),

  diff: async (id: string, olds: ProcessState, news: ProcessInputs): Promise<DiffResult> =>
    diff(id, olds, news),

  create: createProcess,

  /** An empty result tells the engine that the process is gone. The inputs stay those of the last `up`. */
  async read(id: string, props: ProcessState): Promise<{ id: string; props: ProcessState } | typeof GONE> {
    const seen = await readProcess(props);
    return seen ? { id, props: seen } : GONE;
  },

  update: updateProcess,

  delete: (_id: string, props: ProcessState): Promise<void> => deleteProcess(props),
};

/**
 * Starts the process, or adopts the one that already runs on the folder, because an earlier run ended between two steps.
 * Listens on the program's port, or else on the former one, or else on any free port.
 */
async function createProcess(inputs: ProcessInputs): Promise<{ id: string; outs: ProcessState }> {
  const { name, dataDir } = inputs;
  // Of a process that a refresh found gone, or that this run stopped.
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
 * Returns the state of the process if it answers. Returns undefined if it has ended or another one has its place; the
 * next `up` then starts it again. If it runs but its folder is gone, the state says so, and the next `up` replaces it.
 * A process on another machine cannot be inspected, so its state stays as it is, with a warning.
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
 * Applies the program's settings to the process. A process that has ended is started again on the same port. If the
 * folder changes, deliveries that were not forwarded stay in the old one, with a warning.
 */
async function updateProcess(
  id: string,
  state: ProcessState,
  inputs: ProcessInputs,
): Promise<{ outs: ProcessState }> {
  const { name } = inputs;
  const isHere = state.machine === thisMachine();
  const wasLost = isHere && (await endIfLost(state));
  const port = choosePort(inputs.port, portOfId(id));
  const { status, wasRunning } = await applyInputs(inputs, () => port, state);
  if (!isHere) {
    printWarning(
      name,
      `the responder was running on another machine and was now started on this one; the old process keeps running until it is stopped there (pid ${state.pid}, ${state.dataDir})`,
    );
  } else if (state.dataDir !== inputs.dataDir) {
    if (otherNameOf(state.dataDir, name) === undefined) await endProcess({ ...state, name });
  } else if (!wasRunning) {
    const what = wasLost ? "the responder had lost its folder" : "the responder had ended";
    printLine(name, `${what}; started again, pid ${status.pid}`);
  }
  return { outs: toState(inputs, status) };
}

/**
 * Kills our process if its folder no longer announces it, because the folder was removed: nothing else leads to its control
 * interface. Returns whether there was one.
 */
async function endIfLost(state: ProcessState): Promise<boolean> {
  const announced = await readInstance(state.dataDir);
  return announced?.instance !== state.instance && killProcess(state);
}

/** Ends our process and removes its files. A process on another machine keeps running, with a warning. */
async function deleteProcess(state: ProcessState): Promise<void> {
  const { name, dataDir, machine, pid, port } = state;
  if (machine !== thisMachine()) {
    return printWarning(
      name,
      `the responder was started on another machine and is not ended from here; there, end the process ${pid} and remove ${dataDir}`,
    );
  }
  if (await endIfLost(state)) {
    rememberPort(dataDir, port);
    printWarning(
      name,
      `the folder ${dataDir} was removed while the responder ran; what was not forwarded is lost`,
    );
  }
  await endProcess(state);
}

/**
 * Ends our process on a folder, if it still runs, and removes its files; deliveries that were not forwarded stay. If the
 * folder belongs to another resource now, or another responder runs there, both stay.
 */
async function endProcess(state: ProcessState): Promise<void> {
  const { name, dataDir, instance } = state;
  const owner = otherOwnerOf(state);
  if (owner !== undefined) {
    return printLine(name, `the responder stays: its folder ${dataDir} belongs to ${owner} now`);
  }
  const announced = await readInstance(dataDir);
  if (announced?.instance === instance) {
    rememberPort(dataDir, announced.port);
    await stopProcess(dataDir, announced);
  }
  const other = await findRunning(dataDir);
  const warning = other
    ? `another responder runs on ${dataDir} now (pid ${other.status.pid}); it keeps running`
    : await cleanUpDataDir(dataDir);
  if (warning !== undefined) printWarning(name, warning);
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

/**
 * Applies the inputs to the process of a folder. A running process is reloaded, without a refused request, or restarted
 * if its host or port changes; without one, a new one is started. If the folder changes, our process on the former one
 * ends first, because the new one needs its port. `toPort` receives the port of the running process. On failure, the
 * previous configuration is restored, and what was stopped is started again.
 */
async function applyInputs(
  inputs: ProcessInputs,
  toPort: (running: number | undefined) => number,
  former?: ProcessState,
): Promise<{ status: ServerStatus; wasRunning: boolean }> {
  const { dataDir } = inputs;
  await prepareDataDir(inputs, former);
  const before = readConfig(dataDir);
  const running = await findRunning(dataDir);
  const port = toPort(running?.status.port);
  const stays = running?.status.host === inputs.host && running.status.port === port;
  const stopped: Required<StartOptions>[] = [];
  const stop = async ({ workspaces, ...folder }: ProcessInputs, announced: Instance): Promise<void> => {
    stopped.push({ dataDir: folder.dataDir, workspaces, instance: announced.instance });
    await stopProcess(folder.dataDir, announced);
  };
  try {
    const left = former && former.dataDir !== dataDir && (await findOurs(former));
    if (left) await stop(former, left);
    if (running && !stays) await stop(inputs, running.instance);
    const status = stays ? await reload(running.instance, inputs, port) : await start(inputs, port);
    await takeDataDir(inputs);
    return { status, wasRunning: running !== undefined };
  } catch (error) {
    await writeConfig(dataDir, before);
    throw await startAgain(stopped, error);
  }
}

/** Our process on a folder that still belongs to this resource. */
async function findOurs(state: ProcessState): Promise<Instance | undefined> {
  if (state.machine !== thisMachine() || otherOwnerOf(state) !== undefined) return undefined;
  const announced = await readInstance(state.dataDir);
  return announced?.instance === state.instance ? announced : undefined;
}

/** Starts again what was stopped before a failure. Returns the failure to throw, which says so if that fails too. */
async function startAgain(stopped: readonly Required<StartOptions>[], failure: unknown): Promise<unknown> {
  try {
    for (const one of stopped) {
      // A process that could not be stopped is still running.
      if (!(await findRunning(one.dataDir))) await startProcess(one);
    }
    return failure;
  } catch (error) {
    if (!(failure instanceof ApiChatError && error instanceof ApiChatError)) return failure;
    const more = `the former one could not be started again: ${error.message}`;
    return failure.with({ details: [...(failure.details ?? []), more] });
  }
}

async function start(inputs: ProcessInputs, port: number): Promise<ServerStatus> {
  await writeConfig(inputs.dataDir, formatConfig(inputs, port));
  const status = await startProcess(inputs);
  // With the port that it got, so that the next start takes the same one.
  if (port === 0) await writeConfig(inputs.dataDir, formatConfig(inputs, status.port));
  return status;
}

async function reload(instance: Instance, inputs: ProcessInputs, port: number): Promise<ServerStatus> {
  const config = formatConfig(inputs, port);
  await writeConfig(inputs.dataDir, config);
  const status = await requestReload(instance);
  if (status.configDigest === digestOf(config)) return status;
  const { pid } = status;
  throw processError(
    "protocol",
    `the responder (pid ${pid}) runs with a configuration that differs from the one in ${inputs.dataDir}`,
    { hints: [{ id: "end_process", pid }] },
  );
}
