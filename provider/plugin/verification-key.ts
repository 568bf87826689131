import { UNKNOWN } from "../pulumi/unknown.js";
import {
  KEY_SPEC,
  decideNextKeys,
  type VerificationKeyInputs,
  type VerificationKeyState,
  verificationKeyLifecycle,
} from "../verification-key/provider.js";
import type { PluginResource } from "./resource.js";

export const verificationKeyResource: PluginResource = {
  properties: KEY_SPEC,
  lifecycle: () => verificationKeyLifecycle,

  /** Derived and given keys are already in the inputs, because check adds them. */
  previewCreate: async (inputs: VerificationKeyInputs) => ({ current: UNKNOWN, keys: UNKNOWN, ...inputs }),

  previewUpdate: async (_id, state: VerificationKeyState, news: VerificationKeyInputs) => {
    const { current = UNKNOWN, others } = decideNextKeys(state, news);
    const isKnown = current !== UNKNOWN && (news.keep as unknown) !== UNKNOWN;
    return { ...news, current, keys: isKnown ? [current, ...others] : UNKNOWN };
  },
};
