/** A separate entry file for commands that need the deliveries that a server keeps, but no HTTP. */
export type { DeadLetter, KeptDelivery } from "./database.js";
export { findSpool, type SpoolFile } from "./file.js";
