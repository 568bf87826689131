/** A second entry file, for the provider process. Programs must not load it, because it loads zod. */
export {
  decideNextKeys,
  KEY_SPEC,
  type VerificationKeyInputs,
  type VerificationKeyState,
} from "./contract.js";
export { verificationKeyLifecycle } from "./lifecycle.js";
