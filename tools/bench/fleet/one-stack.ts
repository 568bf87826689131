import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeProgram } from "../project.ts";
import {
  withPlace,
  type CommandFigures,
  type Place,
  largerPeak,
  readCalls,
  requireRegistered,
  type RunGiven,
  type SplitRun,
} from "./place.ts";

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
  await writeProgram(folder, module);
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
