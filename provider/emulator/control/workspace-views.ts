import { baseUrlOf } from "../workspace.js";
import type { Conversation } from "../conversations.js";
import type { EmulatorState } from "../emulator-state.js";
import { readConfiguration } from "../registration.js";
import { botUrlOf, type WorkspaceState } from "../workspace-state.js";
import { clear, maskOf, type Mask } from "./mask.js";
import type { ConversationView, WorkspaceView } from "./shapes.js";

/** For whom records are shown: `reveal` with their secrets in clear. */
export interface Viewer {
  state: EmulatorState;
  reveal: boolean;
}

/** What hides the secrets of a workspace from this viewer. */
export function maskFor({ state, reveal }: Viewer, workspace: string | undefined): Mask {
  return reveal ? clear : maskOf(workspace === undefined ? undefined : state.directory.get(workspace));
}

export function viewWorkspace(viewer: Viewer, workspace: WorkspaceState): WorkspaceView {
  const mask = maskFor(viewer, workspace.name);
  const { name, botCode, flowNs, apiKey, flowApiKey, mayManageFlow, flow } = workspace;
  return {
    name,
    baseUrl: mask.url(baseUrlOf(viewer.state, workspace)),
    botUrl: botUrlOf(workspace),
    botCode,
    flowNs,
    apiKey: mask.secret(apiKey),
    flowApiKey: mask.secret(flowApiKey),
    mayManageFlow,
    flow,
    registration: viewRegistration(mask, workspace),
  };
}

function viewRegistration(mask: Mask, workspace: WorkspaceState): WorkspaceView["registration"] {
  const configuration = readConfiguration(workspace);
  if (configuration === undefined) return null;
  const { webhook_url, webhook_verification_key } = configuration;
  return {
    ...configuration,
    webhook_url: mask.url(webhook_url),
    webhook_verification_key: mask.secret(webhook_verification_key),
  };
}

export function viewConversation(conversation: Conversation): ConversationView {
  const { id, workspace, contactId, contactName, conversationId, messages, lastAt } = conversation;
  return {
    id,
    workspace,
    contactId,
    contactName,
    conversationId: String(conversationId),
    messageCount: messages.length,
    lastAt: lastAt.toISOString(),
  };
}
