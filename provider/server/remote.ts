/** A second entry file, to query a server from another process. It loads nothing that only a running server needs. */
export { readPlace, type FileConfig, type ServerConfig } from "./config.js";
/** @internal Keeps zod's types out of the published declarations. */
export { fileShape, rejectTogether, workspacesShape } from "./config.js";
export {
  changeKept,
  countKept,
  findRunning,
  INSPECT_EVERY_MS,
  isResponding,
  requestReload,
  requestStop,
  waitUntilReleased,
} from "./control-client.js";
export { makeDataDir, readInstance, type Instance } from "./data-dir.js";
export { RESERVE_FILE, SPOOL_FILE } from "./spool/volume.js";
