/** A second entry file, for exports that are not published. */
export { faultRule } from "./faults.js";
export { pathSegment } from "./options.js";
