import { UNKNOWN } from "../lib/checks.js";
import type { VerificationKeyInputs, VerificationKeyState } from "../verification-key/contract.js";
import { VerificationKey } from "../verification-key/lifecycle.js";
import { decideNextKeys } from "../verification-key/next-keys.js";
import { leftoverSource, omitNameAndSource, type PluginResource, type ResourceCall } from "./resource.js";
import type { Values } from "./wire.js";

/** `VerificationKey`. Nothing is remote. */
export const verificationKey: PluginResource = {
  check: async ({ name }, olds, news) => {
    const isCreate = Object.keys(olds).length === 0;
    const { inputs, failures } = await VerificationKey.check(isCreate ? {} : { ...olds, name }, {
      ...news,
      name,
    });
    return { inputs: omitNameAndSource(inputs), failures };
  },

  diff: async (call, id, state, news) => {
    const { changed } = await VerificationKey.diff(id, toState(call, state), toInputs(call, news));
    return [...changed, ...leftoverSource(state)];
  },

  create: async (call, inputs) => {
    const { id, outs } = await VerificationKey.create(toInputs(call, inputs));
    return { id, outs: omitNameAndSource(outs) };
  },

  update: async (call, id, state, news) =>
    omitNameAndSource((await VerificationKey.update(id, toState(call, state), toInputs(call, news))).outs),

  read: async (call, id, state = {}) => {
    const { props } = await VerificationKey.read(id, toState(call, state));
    return { id, outs: omitNameAndSource(props) };
  },

  delete: () => VerificationKey.delete(),

  /** Derived and given keys are in the inputs already: check has put them there. */
  previewCreate: async (_call, inputs) => ({ current: UNKNOWN, keys: UNKNOWN, ...inputs }),

  previewUpdate: async (call, _id, state, news) => {
    const { current = UNKNOWN, others } = decideNextKeys(toState(call, state), toInputs(call, news));
    const isKnown = current !== UNKNOWN && news["keep"] !== UNKNOWN;
    return { ...news, current, keys: isKnown ? [current, ...others] : UNKNOWN };
  },

  secretsIn: () => [],
};

const toInputs = ({ name }: ResourceCall, inputs: Values): VerificationKeyInputs => ({ ...inputs, name });

const toState = ({ name }: ResourceCall, state: Values): VerificationKeyState =>
  ({ ...state, name }) as unknown as VerificationKeyState;
