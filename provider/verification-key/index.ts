/** What a program loads: the class. */
export { VerificationKey, type VerificationKeyArgs } from "./verification-key.js";
