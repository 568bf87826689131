import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import { findProjectFile, readFileIfExists } from "../lib/files.js";

/** The project, stack and name of a resource as path segments; special characters are escaped. */
export const instanceKeyOf = (parts: readonly [project: string, stack: string, name: string]): string =>
  parts
    .map((part) => encodeURIComponent(part).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E")))
    .join("/");

const DIGEST_CHARACTERS = 12;

/** Adds a digest to the stack's name, because other backends and organizations may have a stack of that name. */
export async function markStack(instanceKey: string, organization: unknown): Promise<string> {
  const [project = "", stack = "", name = ""] = instanceKey.split("/");
  const owner = JSON.stringify([await currentBackend(), organization, project, stack]);
  const digest = createHash("sha256").update(owner).digest("hex").slice(0, DIGEST_CHARACTERS);
  return [project, `${stack}-${digest}`, name].join("/");
}

/** The engine does not say which backend it uses, so this reads the engine's settings. Empty if none is set. */
async function currentBackend(): Promise<string> {
  const url = process.env["PULUMI_BACKEND_URL"] || (await backendOfProject()) || (await backendOfLogin());
  const path = /^file:\/\/(.*)$/.exec(url)?.[1];
  if (path === undefined) return url.replace(/\/+$/, "");
  return `file://${resolve(path.replace(/^~(?=\/|$)/, homedir()))}`;
}

async function backendOfProject(): Promise<string> {
  const file = findProjectFile();
  const text = file === undefined ? undefined : await read(file);
  // Few projects name a backend; for the others, no YAML is parsed.
  if (!text?.includes("backend")) return "";
  const { parse } = await import("yaml");
  return toText((parse(text) as { backend?: { url?: unknown } } | null)?.backend?.url);
}

async function backendOfLogin(): Promise<string> {
  const home = process.env["PULUMI_HOME"] || join(homedir(), ".pulumi");
  const text = await read(join(process.env["PULUMI_CREDENTIALS_PATH"] || home, "credentials.json"));
  return toText((JSON.parse(text ?? "{}") as { current?: unknown }).current);
}

const toText = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns undefined if the file cannot be read; the engine has already read every file that it needs. */
const read = (file: string): Promise<string | undefined> => readFile(file, "utf8").catch(() => undefined);

/** Where systemd and D-Bus keep the machine ID; containers may lack it. */
const MACHINE_ID_FILES = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/** Distinguishes this machine from others that use the same state. A digest, because a machine ID is private. */
export function thisMachine(): string {
  // Without such a file, only the host name is used.
  const id = MACHINE_ID_FILES.map(readFileIfExists).find((text) => text !== undefined);
  const parts = [id?.trim() ?? "", hostname()];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 16);
}
