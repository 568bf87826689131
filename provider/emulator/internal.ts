/** The second door: what is not published. */
export { faultRule } from "./faults.js";
export { describeOpenPoint, listOpenPoints, type OpenPoint } from "./open-points.js";
export { pathSegment } from "./options.js";
