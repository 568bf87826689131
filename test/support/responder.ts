import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createDelivery } from "pulumi-apichat/responder";
import { processesNaming } from "../../tools/lib/processes.ts";
import type { Backend } from "./stack.ts";

/** With these variables, responders create their folders in the backend's folder, and do not detect CI. */
export function responderEnvironment(backend: Pick<Backend, "folder">): Record<string, string> {
  return { XDG_STATE_HOME: join(backend.folder, "state"), CI: "false" };
}

/** Returns the pids of the responders whose data folder is this folder or is within it. */
export const respondersOn = async (folder: string): Promise<number[]> =>
  (await processesNaming(folder))
    .filter(({ commandLine }) => commandLine.includes("responder"))
    .map(({ pid }) => pid);

/** Posts a signed delivery with these fields, and returns the status of the response. */
export async function deliverTo(
  url: string,
  verificationKey: string,
  message: Record<string, unknown> = {},
): Promise<number> {
  const response = await fetch(await createDelivery("text", { url, verificationKey, message }));
  await response.arrayBuffer();
  return response.status;
}

/** Reads the environment of a process. */
export async function environmentOf(pid: number): Promise<Record<string, string>> {
  const text = await readFile(`/proc/${pid}/environ`, "utf8");
  const entries = text.split("\0").filter((entry) => entry !== "");
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );
}
