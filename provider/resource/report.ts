import { ApiChatError } from "../errors/index.js";

/**
 * Starts a deliberate failure with the resource's name. Of check, diff, read and delete the SDK prints `${error}: ${stack}` too,
 * beside the message that the engine shows: that becomes one short line, such as "ApiChatError: acme: unauthorized".
 */
export async function report<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiChatError) {
      const named = error.with({ subject: name });
      named.stack = `${name}: ${error.code}`;
      named.toString = () => named.name;
      throw named;
    }
    throw error;
  }
}
