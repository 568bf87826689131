import type { CheckResult, RawInputs } from "../resource/checks.js";
import { report } from "../resource/report.js";
import { check } from "./check.js";
import { createProcess } from "./create.js";
import { deleteProcess } from "./delete.js";
import { diffProcess, type DiffResult } from "./diff.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { readProcess } from "./read.js";
import { updateProcess } from "./update.js";

const GONE: Record<string, never> = {};

/** The lifecycle of a responder's process, in the form that the SDK's dynamic provider calls. */
export const ResponderProcess = {
  check: (olds: unknown, news: RawInputs): Promise<CheckResult<ProcessInputs>> =>
    report(news.name, () => check(olds, news)),

  diff: (id: string, olds: ProcessState, news: ProcessInputs): Promise<DiffResult> =>
    report(news.name, async () => diffProcess(id, olds, news)),

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
