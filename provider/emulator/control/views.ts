import { MASK } from "../../lib/redact.js";
import { hideQuery } from "../../lib/url.js";
import type { Change, Conversation, EmulatorState, WorkspaceState } from "../state.js";
import { baseUrlOf, botUrlOf, readConfiguration } from "../workspaces.js";
import { maskRecord } from "./mask.js";
import type { ConversationView, EmulatorEvent, WorkspaceView } from "./shapes.js";

/** For whom records are shown: `reveal` with their secrets in clear. */
export interface Viewer {
  state: EmulatorState;
  reveal: boolean;
}

/** A record as the viewer may see it. */
export function viewRecord<Shown extends { workspace: string | null }>(
  { state, reveal }: Viewer,
  record: Shown,
): Shown {
  return reveal ? record : maskRecord(record, state.directory.get(record.workspace ?? ""));
}

export function viewWorkspace({ state, reveal }: Viewer, workspace: WorkspaceState): WorkspaceView {
  const { name, botCode, flowNs, apiKey, flowApiKey, mayManageFlow, flow } = workspace;
  const secret = (value: string): string => (reveal ? value : MASK);
  const url = (value: string): string => (reveal ? value : hideQuery(value));
  const configuration = readConfiguration(workspace);
  const registration = configuration && {
    ...configuration,
    webhook_url: url(configuration.webhook_url),
    webhook_verification_key: secret(configuration.webhook_verification_key),
  };
  return {
    name,
    baseUrl: url(baseUrlOf(state, workspace)),
    botUrl: botUrlOf(workspace),
    botCode,
    flowNs,
    apiKey: secret(apiKey),
    flowApiKey: secret(flowApiKey),
    mayManageFlow,
    flow,
    registration,
  };
}

export function viewConversation({
  messages,
  turns: _turns,
  ...conversation
}: Conversation): ConversationView {
  return { ...conversation, messageCount: messages.length };
}

/** Calls the listener with each event from now on, until the function that it gives is called. */
export function subscribeTo(viewer: Viewer, listener: (event: EmulatorEvent) => void): () => void {
  return viewer.state.changes.subscribe((change) => {
    try {
      const event = toEvent(viewer, change);
      if (event) listener(event);
    } catch (error) {
      // A defect of who listens is no failure of the request that is reported.
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  });
}

/** What the live stream reports of a change. */
function toEvent(viewer: Viewer, change: Change): EmulatorEvent | undefined {
  switch (change.kind) {
    case "workspace":
      return { type: "workspace", workspace: viewWorkspace(viewer, change.workspace) };
    case "conversation":
      return { type: "conversation", conversation: viewConversation(change.conversation) };
    case "message":
      return { type: "message", message: { ...change.message } };
    case "handshake":
      return { type: "handshake", handshake: viewRecord(viewer, change.handshake) };
    case "delivery":
      return { type: "delivery", delivery: viewRecord(viewer, change.delivery) };
    case "request":
      return { type: "request", request: viewRecord(viewer, change.request) };
    case "faults":
      return { type: "faults", faults: viewer.state.faults.views };
    case "workspace-removed":
      return { type: "workspace-removed", name: change.name };
    case "flow-failed":
      return { type: "flow-failed", failure: change.failure };
    case "reset":
      return { type: "reset" };
    case "conversation-dropped":
  }
  return undefined;
}
