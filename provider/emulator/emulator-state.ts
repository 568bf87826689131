import type { ChangeHub } from "./changes.js";
import type { FaultList } from "./faults.js";
import type { Flow } from "./flows/flow.js";
import type { Settings } from "./options.js";
import type { Outgoing } from "./outgoing.js";
import type { RecordedRequest } from "./records.js";
import type { WorkspaceDirectory } from "./workspace-directory.js";

/** All that one emulator holds, for the functions that answer its requests. */
export interface EmulatorState {
  readonly settings: Settings;
  readonly directory: WorkspaceDirectory;
  readonly faults: FaultList;
  readonly outgoing: Outgoing;
  /** Oldest first. */
  readonly requests: RecordedRequest[];
  /** What can reply, by the name that a workspace chooses. */
  readonly flows: Map<string, Flow>;
  readonly changes: ChangeHub;
  /** The `order` of the last record. */
  lastOrder: number;
  /** Where the two ports can be reached, once they listen. */
  origins: { registration: string; bot: string };
}

const PREFIXES = {
  conversation: "c",
  message: "m",
  handshake: "h",
  delivery: "d",
  request: "r",
  fault: "f",
} as const;

/** Identifies a new record: all of one emulator are counted together, so that they can be put in one line. */
export function nextRecord(state: EmulatorState, kind: keyof typeof PREFIXES): { id: string; order: number } {
  state.lastOrder += 1;
  return { id: `${PREFIXES[kind]}${state.lastOrder}`, order: state.lastOrder };
}
