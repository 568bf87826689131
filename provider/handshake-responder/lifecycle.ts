import { ApiChatError } from "../errors/index.js";
import { joinQuotedNames } from "../lib/plain-text.js";
import { printLine, printWarning } from "../lib/progress.js";
import { type CheckResult, type DiffResult, type RawInputs, fail } from "../pulumi/check-and-diff.js";
import { requireStateVersion } from "../pulumi/state-version.js";
import { UNKNOWN } from "../pulumi/unknown.js";
import { type Instance, findRunning, requestReload } from "../server/remote.js";
import { authorityOf, portOfId } from "./addresses.js";
import { check, diff } from "./check.js";
import {
  cleanUpDataDir,
  configuredPort,
  formatConfig,
  otherOwnerOf,
  prepareDataDir,
  readConfigFile,
  recordOwner,
  writeConfigFile,
} from "./data-folder.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { thisMachine } from "./origin.js";
import { type Folder, startProcess, stopProcess } from "./process.js";

const requireVersion = (state: ProcessState): void =>
  requireStateVersion(state, 1, "a responder cannot be read by its ID: declare it as a new one");

/**
 * The lifecycle of one run's responders, with the methods that the SDK's dynamic provider calls. It knows what
 * the run's program declares, so it detects two resources that share a folder, and a delete that is part of a
 * rename: the engine creates the renamed resource before it deletes the old one.
 */
export class ResponderLifecycle {
  /** The folder that the program declares for each resource. */
  readonly #folders = new Map<string, string>();
  /** For each folder, the port of the process that this run stopped there, so that its replacement gets that port. */
  readonly #ports = new Map<string, number>();

  async check(
    olds: Partial<ProcessInputs> | undefined,
    news: RawInputs,
  ): Promise<CheckResult<ProcessInputs>> {
    const { inputs, failures } = await check(olds, news);
    if (failures.length > 0) return { inputs, failures };
    const { name, dataDir } = inputs;
    this.#folders.set(name, dataDir);
    const other = this.#twinOf(inputs);
    if (dataDir === UNKNOWN || other === undefined) return { inputs, failures };
    const text =
      `dataDir: ${joinQuotedNames([other, name])} share ${dataDir}, but a folder belongs to one process; ` +
      "give one of them its own";
    return { inputs, failures: [fail(text, "dataDir")] };
  }

  async diff(id: string, state: ProcessState, inputs: ProcessInputs): Promise<DiffResult> {
    requireVersion(state);
    return diff(id, state, inputs);
  }

  /** Adopts a process that already runs on the folder, for example one that an interrupted run started. */
  async create(inputs: ProcessInputs): Promise<{ id: string; outs: ProcessState }> {
    const { name, dataDir } = inputs;
    // By default, the port of the folder's process, even if a refresh found it missing or this run stopped it.
    const port = inputs.port || configuredPort(dataDir) || this.#ports.get(dataDir) || 0;
    const { started, wasRunning } = await applyInputs(inputs, port);
    const { host, pid } = started;
    if (wasRunning) printLine(name, `adopted the responder that already runs on ${dataDir}, pid ${pid}`);
    return { id: authorityOf(host, started.port), outs: toProcessState(inputs, started) };
  }

  /**
   * An empty result tells the engine that the process has ended, or that another one has replaced it. A
   * process on another machine cannot be inspected, so its state is kept, with a warning.
   */
  async read(id: string, state: ProcessState): Promise<{ id?: string; props?: ProcessState }> {
    requireVersion(state);
    if (state.machine !== thisMachine()) {
      printWarning(
        state.name,
        "the responder was started on another machine, so this machine cannot tell whether it runs; " +
          "the state is not changed",
      );
      return { id, props: state };
    }
    const running = await findRunning(state.dataDir);
    if (running?.instance !== state.instance) return {};
    const { host, port, pid } = running;
    return { id, props: { ...state, host, port, pid } };
  }

  /** If the folder changes, deliveries that were not forwarded stay in the old one, and a warning says so. */
  async update(id: string, state: ProcessState, inputs: ProcessInputs): Promise<{ outs: ProcessState }> {
    requireVersion(state);
    const { name } = inputs;
    const isHere = state.machine === thisMachine();
    const { started, wasRunning } = await applyInputs(inputs, inputs.port || portOfId(id), state);
    if (!isHere) {
      printWarning(
        name,
        "the responder was running on another machine and has now been started on this one; " +
          `the old process keeps running until it is stopped there (pid ${state.pid}, ${state.dataDir})`,
      );
    } else if (state.dataDir !== inputs.dataDir) {
      const previous = { ...state, name };
      if (this.#twinOf(previous) === undefined) await this.#end(previous);
    } else if (!wasRunning) {
      printLine(name, `the responder had ended; started again, pid ${started.pid}`);
    }
    return { outs: toProcessState(inputs, started) };
  }

  async delete(_id: string, state: ProcessState): Promise<void> {
    requireVersion(state);
    const { name, dataDir, machine, pid } = state;
    if (machine !== thisMachine()) {
      return printWarning(
        name,
        "the responder was started on another machine and cannot be ended from here; on that machine, " +
          `end the process ${pid} and remove ${dataDir}`,
      );
    }
    await this.#end(state);
  }

  #twinOf({ name, dataDir }: Pick<ProcessInputs, "name" | "dataDir">): string | undefined {
    return [...this.#folders].find(([other, folder]) => folder === dataDir && other !== name)?.[0];
  }

  /** Ends the process and cleans up, unless another resource now owns the folder or another responder runs there. */
  async #end(state: ProcessState): Promise<void> {
    const { name, dataDir, instance, port } = state;
    const owner = otherOwnerOf(state);
    if (owner !== undefined) {
      return printLine(name, `the responder keeps running: its folder ${dataDir} now belongs to ${owner}`);
    }
    const running = await findRunning(dataDir);
    if (running && running.instance !== instance) {
      return printWarning(
        name,
        `another responder runs on ${dataDir} now (pid ${running.pid}); it keeps running`,
      );
    }
    this.#ports.set(dataDir, port);
    if (running) await stopProcess(state, running);
    const warning = await cleanUpDataDir(dataDir);
    if (warning !== undefined) printWarning(name, warning);
  }
}

const toProcessState = (inputs: ProcessInputs, { host, port, pid, instance }: Instance): ProcessState => ({
  ...inputs,
  host,
  port,
  pid,
  instance,
  machine: thisMachine(),
  stateVersion: 1,
});

type Stopped = [folder: Folder, running: Instance];

/**
 * Starts the process or, if it runs, reloads it without rejecting a request, or restarts it for a new host or port.
 * If the folder changes, first ends our process on the previous folder, because the new process needs its port. On
 * failure, restores the previous configuration and restarts the processes that it stopped.
 */
async function applyInputs(
  inputs: ProcessInputs,
  port: number,
  previous?: ProcessState,
): Promise<{ started: Instance; wasRunning: boolean }> {
  const { dataDir, host } = inputs;
  await prepareDataDir(inputs, previous);
  const previousConfig = readConfigFile(dataDir);
  const running = await findRunning(dataDir);
  // Replace a responder that was started by hand, because its configuration may differ from ours.
  const stays = running?.isManaged && running.host === host && [0, running.port].includes(port);
  const previousInstance = previous && previous.dataDir !== dataDir && (await findOurs(previous));
  const stopped: Stopped[] = [];
  if (previousInstance) stopped.push([previous, previousInstance]);
  if (running && !stays) stopped.push([inputs, running]);
  try {
    for (const [folder, one] of stopped) await stopProcess(folder, one);
    await writeConfigFile(dataDir, formatConfig(inputs, port));
    if (stays) await requestReload(running);
    const started = stays ? running : await startProcess(inputs);
    // Record the port that the process got, so that the next start uses the same one.
    if (port === 0) await writeConfigFile(dataDir, formatConfig(inputs, started.port));
    await recordOwner(inputs);
    return { started, wasRunning: running !== undefined };
  } catch (error) {
    await writeConfigFile(dataDir, previousConfig);
    throw await startAgain(stopped, error);
  }
}

async function findOurs(state: ProcessState): Promise<Instance | undefined> {
  if (state.machine !== thisMachine() || otherOwnerOf(state) !== undefined) return undefined;
  const running = await findRunning(state.dataDir);
  return running?.instance === state.instance ? running : undefined;
}

/** Restarts processes that were stopped before a failure. Returns that failure, with any failed restart added. */
async function startAgain(stopped: readonly Stopped[], failure: unknown): Promise<unknown> {
  try {
    for (const [folder, { instance }] of stopped) {
      // A process that could not be stopped is still running.
      if (!(await findRunning(folder.dataDir))) await startProcess(folder, instance);
    }
    return failure;
  } catch (error) {
    if (!(failure instanceof ApiChatError && error instanceof ApiChatError)) return failure;
    const more = `the previous process could not be started again: ${error.message}`;
    return failure.with({ details: [...(failure.details ?? []), more] });
  }
}
