/** The second door: what is not published. */
export { faultRule } from "./faults.js";
export { pathSegment } from "./options.js";
