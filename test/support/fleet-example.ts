import { join } from "node:path";
import { readSeed, startEmulator, type Emulator } from "pulumi-apichat/emulator";
import { afterTests } from "./http.ts";
import { copyExample } from "./program-folder.ts";
import type { Backend } from "./stack.ts";

/** Copies the example fleet, and starts the same emulator as its README does, but on a free port. */
export async function startFleetExample(
  backend: Backend,
): Promise<{ folder: string; emulator: Emulator; names: string[] }> {
  const { path: folder } = await copyExample(backend, "fleet");
  const emulator = await startEmulator(await readSeed(join(folder, "emulator.yaml")));
  afterTests(() => emulator.close());
  return { folder, emulator, names: [...emulator.workspaces.keys()] };
}
