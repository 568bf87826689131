/** A second entry file: what the provider process needs. A program does not load it: it needs zod. */
export {
  decideNextKeys,
  KEY_SPEC,
  type VerificationKeyInputs,
  type VerificationKeyState,
} from "./contract.js";
export { verificationKeyLifecycle } from "./lifecycle.js";
