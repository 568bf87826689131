import type { CheckResult, RawInputs } from "../resource/checks.js";
import { report } from "../resource/report.js";
import { checkKey } from "./check.js";
import { createKey } from "./create.js";
import { diffKey } from "./diff.js";
import type { VerificationKeyInputs, VerificationKeyState } from "./inputs.js";
import { readKey } from "./read.js";
import { requireState } from "./state.js";
import { updateKey } from "./update.js";

/** The lifecycle of `VerificationKey`, in the form that the SDK's dynamic provider calls. Nothing is remote, nothing to delete. */
export const VerificationKey = {
  check: (olds: Record<string, unknown>, news: RawInputs): Promise<CheckResult<VerificationKeyInputs>> =>
    report(news.name, async () => checkKey(olds, news)),

  diff: (
    _id: string,
    olds: VerificationKeyState,
    news: VerificationKeyInputs,
  ): Promise<ReturnType<typeof diffKey>> => report(news.name, async () => diffKey(requireState(olds), news)),

  create: (inputs: VerificationKeyInputs): Promise<{ id: string; outs: VerificationKeyState }> =>
    report(inputs.name, async () => createKey(inputs)),

  read: (
    id: string,
    props: Partial<VerificationKeyState> & { name: string },
  ): Promise<{ id: string; props: VerificationKeyState }> =>
    report(props.name, async () => readKey(id, requireState(props))),

  update: (
    _id: string,
    olds: VerificationKeyState,
    news: VerificationKeyInputs,
  ): Promise<{ outs: VerificationKeyState }> =>
    report(news.name, async () => updateKey(requireState(olds), news)),

  delete: async (): Promise<void> => {},
};
