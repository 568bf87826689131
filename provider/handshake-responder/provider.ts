/** A second entry file, for the provider process and the command line. It loads zod and undici. */
export { healthUrlOf, portOfId, urlsOf } from "./addresses.js";
export { PROCESS_SPEC, type ProcessInputs, type ProcessState } from "./inputs.js";
export { ResponderLifecycle } from "./lifecycle.js";
export { instanceKeyOf } from "./origin.js";
export { setResponderCommand } from "./process.js";
