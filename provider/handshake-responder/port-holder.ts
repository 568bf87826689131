import { readFile, readdir, readlink } from "node:fs/promises";
import { basename } from "node:path";

/** The state of a listening socket in /proc/net/tcp. */
const LISTENING = "0A";

/**
 * Names the process that listens on a port of this machine, such as `"nginx" (pid 812)`. undefined where nobody does, or
 * nothing tells: only Linux shows it, and only for processes that this user may look into. Arguments are left out.
 */
export async function describePortHolder(port: number): Promise<string | undefined> {
  const inodes = await listeningInodes(port);
  if (inodes.size === 0) return undefined;
  const pid = await holderOf(inodes);
  if (pid === undefined) return "another process";
  // Not the name of its first thread, which programs change.
  const program = basename(await link(`/proc/${pid}/exe`));
  return `${JSON.stringify(program)} (pid ${pid})`;
}

async function listeningInodes(port: number): Promise<Set<string>> {
  const tables = await Promise.all([read("/proc/net/tcp"), read("/proc/net/tcp6")]);
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = tables.flatMap((table) => table.split("\n")).map((line) => line.trim().split(/\s+/));
  const listening = rows.filter(([, local, , state]) => local?.endsWith(suffix) && state === LISTENING);
  return new Set(listening.map((row) => `socket:[${row[9]}]`));
}

async function holderOf(sockets: ReadonlySet<string>): Promise<string | undefined> {
  const pids = (await list("/proc")).filter((entry) => /^\d+$/.test(entry));
  for (const pid of pids) {
    const descriptors = await list(`/proc/${pid}/fd`);
    const links = await Promise.all(descriptors.map((fd) => link(`/proc/${pid}/fd/${fd}`)));
    if (links.some((target) => sockets.has(target))) return pid;
  }
  return undefined;
}

// What has ended meanwhile, or belongs to another user, or is not Linux, shows nothing.
const nothing = (): "" => "";
const read = (path: string): Promise<string> => readFile(path, "utf8").catch(nothing);
const link = (path: string): Promise<string> => readlink(path).catch(nothing);
const list = (path: string): Promise<string[]> => readdir(path).catch(() => []);
