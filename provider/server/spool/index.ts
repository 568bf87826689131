/** A separate entry: the deliveries that a server keeps, for commands that need no HTTP. */
export type { DeadLetter, KeptDelivery } from "./database.js";
export { findSpool, type SpoolFile } from "./file.js";
