export { startEmulator, type Emulator } from "./emulator.js";
export type { DeliveryOptions } from "./delivery.js";
export type { Fault, FaultOperation, FaultRule } from "./faults.js";
export type {
  BeforeFirstSet,
  EmulatorOptions,
  FailedHandshake,
  HandshakeEncoding,
  WorkspaceOptions,
} from "./options.js";
export type { DeliveryResult, HandshakeRecord, RecordedRequest } from "./records.js";
export type { Workspace, WorkspaceChange } from "./workspace.js";
