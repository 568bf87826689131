import { UNKNOWN } from "../lib/checks.js";
import {
  decideNextKeys,
  type VerificationKeyInputs,
  type VerificationKeyState,
} from "../verification-key/contract.js";
import { VerificationKey } from "../verification-key/lifecycle.js";
import type { PluginResource } from "./resource.js";

/** `VerificationKey`. Nothing is remote. */
export const verificationKey: PluginResource<VerificationKeyInputs, VerificationKeyState> = {
  check: (_call, olds, news) => VerificationKey.check(olds, news),

  diff: async (_call, id, state, news) => (await VerificationKey.diff(id, state, news)).changed,

  create: (_call, inputs) => VerificationKey.create(inputs),

  update: async (_call, id, state, news) => (await VerificationKey.update(id, state, news)).outs,

  read: async ({ name }, id, state) => {
    const { props } = await VerificationKey.read(id, state ?? { name });
    return { id, outs: props };
  },

  delete: (_call, id, state) => VerificationKey.delete(id, state),

  /** Derived and given keys are in the inputs already: check has put them there. */
  previewCreate: async (_call, inputs) => ({ current: UNKNOWN, keys: UNKNOWN, ...inputs }),

  previewUpdate: async (_call, _id, state, news) => {
    const { current = UNKNOWN, others } = decideNextKeys(state, news);
    const isKnown = current !== UNKNOWN && (news.keep as unknown) !== UNKNOWN;
    return { ...news, current, keys: isKnown ? [current, ...others] : UNKNOWN };
  },

  secretsIn: () => [],
};
