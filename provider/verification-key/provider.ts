/** The second door: what the provider process needs. A program does not load it: it needs zod. */
export {
  decideNextKeys,
  DYNAMIC_KEY,
  type VerificationKeyInputs,
  type VerificationKeyState,
} from "./contract.js";
export { verificationKeyLifecycle } from "./lifecycle.js";
