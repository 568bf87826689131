import "../lib/require-node.js";
export { startEmulator, type Emulator } from "./emulator.js";
export type { AnswerFault, DeliveryFault, Fault, FaultOperation, FaultRule, FaultView } from "./faults.js";
export type { Flow, FlowContext, FlowReply } from "./flows/flows.js";
export type { EmulatorOptions, WorkspaceOptions } from "./options.js";
export { readSeed, type Seed } from "./seed.js";
export type {
  ConversationRecord,
  DeliveryRecord,
  HandshakeRecord,
  MessageRecord,
  RecordedRequest,
} from "./state.js";
export type { SentMessage } from "./contact.js";
export type { Workspace } from "./workspace-handle.js";
export type { WorkspaceChange } from "./workspaces.js";
export type { Match, WaitOptions } from "./wait.js";
export type {
  ControlError,
  ConversationView,
  EmulatorEvent,
  HealthView,
  ReplyAnswer,
  SettingsView,
  WorkspaceView,
} from "./control/shapes.js";
