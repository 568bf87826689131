import type { Change } from "../changes.js";
import { viewDelivery, viewHandshake, viewMessage, viewRequest } from "./record-views.js";
import type { EmulatorEvent } from "./shapes.js";
import { viewFault } from "../fault-view.js";
import { viewConversation, viewWorkspace, type Viewer } from "./workspace-views.js";

/** What the live stream tells of a change. */
function toEvent(viewer: Viewer, change: Change): EmulatorEvent {
  switch (change.kind) {
    case "workspace":
      return { type: "workspace", workspace: viewWorkspace(viewer, change.workspace) };
    case "workspace-removed":
      return { type: "workspace-removed", name: change.name };
    case "conversation":
      return { type: "conversation", conversation: viewConversation(change.conversation) };
    case "message":
      return { type: "message", message: viewMessage(change.message) };
    case "handshake":
      return { type: "handshake", handshake: viewHandshake(viewer, change.handshake) };
    case "delivery":
      return { type: "delivery", delivery: viewDelivery(viewer, change.delivery) };
    case "flow-failed":
      return { type: "flow-failed", failure: change.failure };
    case "request":
      return { type: "request", request: viewRequest(viewer, change.request) };
    case "faults":
      return { type: "faults", faults: viewer.state.faults.map(viewFault) };
    case "reset":
  }
  return { type: "reset" };
}

/** Calls the listener with each event from now on, until the function that it gives is called. */
export function subscribeTo(viewer: Viewer, listener: (event: EmulatorEvent) => void): () => void {
  return viewer.state.changes.subscribe((change) => {
    try {
      listener(toEvent(viewer, change));
    } catch (error) {
      // A defect of who listens is no failure of the request that is told of.
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  });
}
