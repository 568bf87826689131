import { ApiChatError } from "../errors.js";

/** Starts a deliberate failure with the resource's name, and without a stack: the SDK prints it beside the message. */
export async function report<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiChatError) {
      error.message = `${name}: ${error.message}`;
      error.stack = "";
    }
    throw error;
  }
}
