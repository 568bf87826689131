/** The entry file for programs: only the class. */
export { VerificationKey, type VerificationKeyArgs } from "./verification-key.js";
