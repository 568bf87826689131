import { execFile } from "node:child_process";
import { mkdtemp, rm, statfs, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterTests } from "./http.ts";

const runFile = promisify(execFile);

/** Runs a command as root, which mounting requires; CI machines allow that through sudo. */
const asRoot = (...words: string[]): Promise<unknown> =>
  process.getuid?.() === 0
    ? runFile(words[0] ?? "", words.slice(1))
    : runFile("sudo", ["--non-interactive", ...words]);

export type VolumeKind = "tmpfs" | "ext4";

/** Mounts an empty volume, writable for everybody, until the test file's last test. Returns the folder. */
export async function mountVolume(kind: VolumeKind, megabytes: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-volume-"));
  const image = `${folder}.img`;
  const size = `${megabytes}M`;
  if (kind === "tmpfs") await asRoot("mount", "-t", "tmpfs", "-o", `size=${size},mode=777`, "tmpfs", folder);
  else {
    await writeFile(image, "");
    await truncate(image, megabytes * 1024 * 1024);
    await runFile("mkfs.ext4", ["-q", "-E", "root_owner", image]);
    await asRoot("mount", "-o", "loop", image, folder);
  }
  afterTests(async () => {
    // Unmounts lazily, because a process may still have a file open there.
    await asRoot("umount", "--lazy", folder);
    await Promise.all([folder, image].map((path) => rm(path, { recursive: true, force: true })));
  });
  return folder;
}

/** Fills a volume to its last byte with a file, and returns the file's path. */
export async function fillVolume(folder: string): Promise<string> {
  const file = join(folder, "filler");
  await runFile("sh", ["-c", 'cat /dev/zero > "$0" || true', file]);
  return file;
}

export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
