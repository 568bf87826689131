import type { FaultList } from "./faults.js";
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
  readonly requests: RecordedRequest[];
}
