import type { EmulatorState } from "./emulator-state.js";
import { answerError, type HttpAnswer, type HttpRequest } from "./http-server.js";
import { answerRecorded } from "./recorder.js";
import { workspaceOfBot } from "./workspace-directory.js";

/** Answers one request to the bot host (section 4.2). It knows its bots, but takes no messages in this version. */
export function answerBot(state: EmulatorState, request: HttpRequest): Promise<HttpAnswer> {
  return answerRecorded(state, "bot", request, (record) => {
    const botCode = /^\/api\/apichat\/([^/]+)$/.exec(request.address.pathname)?.[1];
    const workspace = botCode === undefined ? undefined : workspaceOfBot(state.directory, botCode);
    record.workspace = workspace?.name;
    return Promise.resolve(answerMessage(workspace !== undefined, request.method));
  });
}

function answerMessage(known: boolean, method: string): HttpAnswer {
  if (!known) return answerError(404, "there is no bot at this address");
  if (method !== "POST") return answerError(405, "use POST", { allow: "POST" });
  return answerError(501, "this version of the emulator does not take messages yet");
}
