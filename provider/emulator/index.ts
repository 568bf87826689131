export { startEmulator, type Emulator } from "./emulator.js";
export type { DeliveryOptions } from "./deliveries/delivery.js";
export type { Fault, FaultOperation, FaultRule } from "./faults.js";
export type { EmulatorOptions, WorkspaceOptions } from "./options.js";
export type { BeforeFirstSet, FailedHandshake, HandshakeEncoding } from "./switches.js";
export type { DeliveryRecord, HandshakeRecord, RecordedRequest } from "./records.js";
export type { Workspace, WorkspaceChange } from "./workspace.js";
