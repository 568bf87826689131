import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withPlace, type CommandFigures, type Place } from "./place.ts";
import { largerPeak, readCalls, requireRegistered, type RunGiven, type SplitRun } from "./run.ts";

const nodeModules = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const module = new URL("../programs/fleet-one-stack.mjs", import.meta.url);

/** `up` and `refresh` of all workspaces in one stack, with the plain CLI as a user does. */
export async function runOneStack(given: RunGiven & { checkpoints: boolean }): Promise<SplitRun> {
  const { workspaces, checkpoints } = given;
  return await withPlace(given, async (place) => {
    const pulumi = await createStack(place, given);
    const up = await pulumi("up", "--yes", "--skip-preview");
    const afterUp = await place.service.ask();
    requireRegistered(afterUp, given);
    const refresh = await pulumi("refresh", "--yes", "--skip-preview");
    const afterRefresh = await place.service.ask();
    requireRegistered(afterRefresh, given);
    return {
      split: checkpoints ? "oneStack" : "oneStackWithoutCheckpoints",
      workspaces,
      stacks: 1,
      upSeconds: up.seconds,
      refreshSeconds: refresh.seconds,
      peakBytes: largerPeak(up.peakBytes, refresh.peakBytes),
      upCalls: readCalls(afterUp),
      refreshCalls: readCalls(afterRefresh),
      indexedBotUrls: undefined,
    };
  });
}

type Pulumi = (...parameters: string[]) => Promise<CommandFigures>;

async function createStack(
  place: Place,
  { workspaces, checkpoints, update }: RunGiven & { checkpoints: boolean },
): Promise<Pulumi> {
  const folder = join(place.folder, "program");
  await mkdir(folder);
  await symlink(nodeModules, join(folder, "node_modules"));
  await writeFile(join(folder, "Pulumi.yaml"), "name: bench\nruntime: nodejs\n");
  await writeFile(join(folder, "package.json"), '{ "type": "module", "main": "index.js" }\n');
  await writeFile(join(folder, "index.js"), `import ${JSON.stringify(module.href)};\n`);
  await writeFile(join(folder, "workspaces.json"), JSON.stringify(place.workspaces));
  const pulumi: Pulumi = (...parameters) => {
    let done = 0;
    return place.measure({
      program: place.pulumi,
      parameters: [...parameters, "--stack", "bench", "--non-interactive"],
      folder,
      ...(!checkpoints && { environment: { PULUMI_SKIP_CHECKPOINTS: "true" } }),
      onLine: (line) => {
        if (/ApiChatWebhook workspace-\d+ (created|refresh)/.test(line)) done += 1;
        update(`${parameters[0]}: ${Math.min(done, workspaces)} of ${workspaces} webhooks`);
      },
    });
  };
  await pulumi("stack", "init");
  return pulumi;
}
