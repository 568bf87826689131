import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandsIn, type Command } from "./command.ts";
import { API_KEY } from "./endpoint.ts";
import type { Scene } from "./scene.ts";

const PROJECT = "fleet-in-a-folder";

const COMMAND = `import { readFileSync } from "node:fs";
import { runFleetCommand } from "pulumi-apichat/fleet";

await runFleetCommand({
  ...JSON.parse(readFileSync("definition.json", "utf8")),
  project: "${PROJECT}",
  workspaces: "workspaces.json",
  webhook: ({ baseUrl, webhookUrl = "" }, { rotations }) => ({
    baseUrl,
    webhookUrl,
    webhookVerificationKey: KEY,
  }),
});
`;

/** A user's folder with `fleet.ts` and its list of workspaces. */
export interface FleetFolder {
  path: string;
  /** Writes the name, the number of stacks and the rotations to the file that `fleet.ts` reads. */
  define(definition: { name: string; stacks: number; rotations?: string[] }): Promise<void>;
  /** Starts `node fleet.ts` with these arguments. */
  start(...parameters: string[]): Command;
  /** The output of all commands so far. */
  printed(): string;
  /** The paths of the lock files of all stacks. */
  locks(): Promise<string[]>;
  /** Maps the name of each stack to the text of its state. */
  states(): Promise<Map<string, string>>;
}

/** `key` is the TypeScript expression for each workspace's `webhookVerificationKey`. */
export async function createFleetFolder(
  { backend, emulator }: Pick<Scene, "backend" | "emulator">,
  {
    urls,
    key,
    environment,
  }: { urls: Record<string, string>; key: string; environment: Record<string, string> },
): Promise<FleetFolder> {
  const path = join(backend.folder, "fleet");
  const temporary = join(backend.folder, "tmp");
  await Promise.all([path, temporary].map((folder) => mkdir(folder)));
  await symlink(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(path, "node_modules"));
  const workspaces = Object.entries(urls).map(([name, webhookUrl]) => {
    const { baseUrl } = emulator.workspace(name);
    return { name, baseUrl, webhookUrl };
  });
  const files = {
    "package.json": '{ "type": "module" }\n',
    "fleet.ts": COMMAND.replace("KEY", key),
    "workspaces.json": JSON.stringify({ workspaces }),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  const variables = { ...backend.environment, TMPDIR: temporary, APICHAT_API_KEY: API_KEY, ...environment };
  const startCommand = commandsIn(path, variables);
  const commands: Command[] = [];
  const inBackend = (...names: string[]): string => join(backend.folder, ".pulumi", ...names);
  const stacks = inBackend("stacks", PROJECT);
  return {
    path,
    define: (definition) => writeFile(join(path, "definition.json"), JSON.stringify(definition)),
    start: (...parameters) => {
      const command = startCommand(process.execPath, "fleet.ts", ...parameters);
      commands.push(command);
      return command;
    },
    printed: () => commands.map((command) => command.output()).join("\n"),
    // The folder `locks` does not exist before the first run.
    locks: async () =>
      (await readdir(inBackend("locks"), { recursive: true }).catch(() => []))
        .filter((entry) => entry.endsWith(".json"))
        .map((entry) => inBackend("locks", entry)),
    states: async () => {
      const found = (await readdir(stacks).catch(() => [])).filter((file) => file.endsWith(".json"));
      const read = async (file: string) =>
        [file.slice(0, -".json".length), await readFile(join(stacks, file), "utf8")] as const;
      return new Map(await Promise.all(found.map(read)));
    },
  };
}
