import { ApiChatError } from "../errors/index.js";
import { readInstance, requestStatus, type Instance, type ServerStatus } from "../server/control-client.js";
import { isResponder } from "./process-table.js";

/** A process that has answered to the token of its folder. */
export interface Running {
  dataDir: string;
  instance: Instance;
  status: ServerStatus;
}

/**
 * The responder that runs on a folder, whoever started it; undefined if none does. Throws `timeout` for one that is there
 * and does not answer.
 */
export async function findRunning(dataDir: string): Promise<Running | undefined> {
  const instance = await readInstance(dataDir);
  const status = instance && (await statusOf(instance));
  return status && { dataDir, instance, status };
}

async function statusOf(instance: Instance): Promise<ServerStatus | undefined> {
  try {
    return await requestStatus(instance);
  } catch (error) {
    if (!isSilence(error)) throw error;
    // The announcement of a killed one is still there, and another program has its port now.
    if (!(await isResponder(instance.pid))) return undefined;
    throw error.with({
      summary: `${error.summary}; if it hangs, end it with kill -9 ${instance.pid}, which loses nothing that was acknowledged, and try again`,
    });
  }
}

/** Whether somebody has taken the connection to a control interface, and has not answered. */
export const isSilence = (error: unknown): error is ApiChatError =>
  error instanceof ApiChatError && error.code === "timeout";
