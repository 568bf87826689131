import { say } from "../resource/progress.js";
import { authorityOf } from "./addresses.js";
import { applyInputs, toState } from "./apply.js";
import { portOfConfig, readConfig } from "./config-file.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { rememberedPort } from "./managed.js";

/**
 * Starts the process, or adopts the one that runs on the folder already: an earlier run was ended between two steps. It
 * listens where the program says, else where it did before, else on any free port.
 */
export async function createProcess(inputs: ProcessInputs): Promise<{ id: string; outs: ProcessState }> {
  const { name, dataDir } = inputs;
  const former = await formerPort(dataDir);
  const { status, wasRunning } = await applyInputs(inputs, (running) => inputs.port || running || former);
  if (wasRunning) say(name, `adopted the responder that runs on ${dataDir} already, pid ${status.pid}`);
  return { id: authorityOf(status.host, status.port), outs: toState(inputs, status) };
}

/** The port of a process that a refresh has found gone, or that this run has stopped; 0 if there was none. */
async function formerPort(dataDir: string): Promise<number> {
  const config = await readConfig(dataDir);
  return (config && portOfConfig(config)) || rememberedPort(dataDir) || 0;
}
