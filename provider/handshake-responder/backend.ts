import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

const PROJECT_FILES = ["Pulumi.yaml", "Pulumi.yml", "Pulumi.json"];

/**
 * The address of the backend that holds the stack. The engine does not give it, so it is looked up where the engine looks:
 * environment, project file, login. Empty if none of them names one.
 */
export async function currentBackend(): Promise<string> {
  const url =
    process.env["PULUMI_BACKEND_URL"] || (await backendOfProject(process.cwd())) || (await backendOfLogin());
  const path = /^file:\/\/(.*)$/.exec(url)?.[1];
  if (path === undefined) return url.replace(/\/+$/, "");
  return `file://${resolve(path.replace(/^~(?=\/|$)/, homedir()))}`;
}

async function backendOfProject(folder: string): Promise<string> {
  for (const file of PROJECT_FILES) {
    const text = await read(join(folder, file));
    if (text !== undefined) return urlOfProject(text);
  }
  const parent = dirname(folder);
  return parent === folder ? "" : backendOfProject(parent);
}

async function urlOfProject(text: string): Promise<string> {
  // Few projects name one, and the others need no YAML.
  if (!text.includes("backend")) return "";
  const { parse } = await import("yaml");
  return toText((parse(text) as { backend?: { url?: unknown } } | null)?.backend?.url);
}

async function backendOfLogin(): Promise<string> {
  const home = process.env["PULUMI_HOME"] || join(homedir(), ".pulumi");
  const text = await read(join(process.env["PULUMI_CREDENTIALS_PATH"] || home, "credentials.json"));
  return toText((JSON.parse(text ?? "{}") as { current?: unknown }).current);
}

const toText = (value: unknown): string => (typeof value === "string" ? value : "");

/** undefined: there is none that can be read. The engine has read those that count. */
const read = (file: string): Promise<string | undefined> => readFile(file, "utf8").catch(() => undefined);
