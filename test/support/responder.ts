import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createDelivery } from "pulumi-apichat/responder";
import { processesNaming } from "../../tools/lib/processes.ts";
import type { Backend } from "./stack.ts";

/** Variables of the engine with which responders keep their folders with the backend's, and on no CI machine. */
export function responderEnvironment(backend: Pick<Backend, "folder">): Record<string, string> {
  return { XDG_STATE_HOME: join(backend.folder, "state"), CI: "false" };
}

/** The pids of the responders that run on a folder or within it. */
export const respondersOn = async (folder: string): Promise<number[]> =>
  (await processesNaming(folder))
    .filter(({ commandLine }) => commandLine.includes("responder"))
    .map(({ pid }) => pid);

/** Posts a signed delivery; gives the status of the answer. */
export async function deliverTo(url: string, verificationKey: string): Promise<number> {
  const response = await fetch(await createDelivery("text", { url, verificationKey }));
  await response.arrayBuffer();
  return response.status;
}

/** The names and values of a process's environment. */
export async function environmentOf(pid: number): Promise<Record<string, string>> {
  const text = await readFile(`/proc/${pid}/environ`, "utf8");
  const entries = text.split("\0").filter((entry) => entry !== "");
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );
}
