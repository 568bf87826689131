import { request } from "undici";
import { presentFlowKey } from "../client/options.js";
import { ApiChatError } from "../errors/index.js";
import type { EmulatorState } from "./emulator-state.js";
import { EMULATOR_AGENT } from "./outgoing.js";
import type { FlowKey } from "./switches.js";
import type { WorkspaceState } from "./workspace-state.js";

/** What `bot_url` answered. */
export interface SentMessage {
  status: number;
  /** The value, if it is JSON, or else the text; undefined if it is empty. */
  body: unknown;
}

/**
 * Posts a message to the workspace's bot with its flow API key, as an external system would (section 4.2): a refusal is an
 * answer. Throws `unavailable` if the connection ends without one, as a fault can make it.
 */
export async function sendAsContact(
  state: EmulatorState,
  workspace: WorkspaceState,
  message: unknown,
): Promise<SentMessage> {
  const { dispatcher, closing } = state.outgoing;
  // Always to this emulator: a `bot_url` that was moved elsewhere must not get the key.
  const url = `${state.origins.bot}/api/apichat/${workspace.botCode}`;
  const { headers, body } = present(workspace.flowApiKey, message, state.settings.flowKey);
  try {
    const answer = await request(url, { method: "POST", headers, body, dispatcher, signal: closing });
    return { status: answer.statusCode, body: parseOrKeep(await answer.body.text()) };
  } catch (cause) {
    const text = `message: the bot of workspace "${workspace.name}" gave no answer`;
    throw new ApiChatError("unavailable", text, { operation: "message", cause });
  }
}

function present(
  key: string,
  message: unknown,
  flowKey: FlowKey,
): { headers: Record<string, string>; body: string } {
  const { headers = {}, fields = {} } = flowKey === "none" ? {} : presentFlowKey(key, flowKey);
  const isObject = typeof message === "object" && message !== null && !Array.isArray(message);
  return {
    headers: { "content-type": "application/json", "user-agent": EMULATOR_AGENT, ...headers },
    body: JSON.stringify(isObject ? { ...message, ...fields } : message),
  };
}

function parseOrKeep(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
