import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { FleetDefinition, FleetReport } from "pulumi-apichat/fleet";
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

/** How many workspaces a stack of the fleet has, more or less. */
const WORKSPACES_A_STACK = 125;

const program = new URL("../programs/fleet.mjs", import.meta.url);
const command = fileURLToPath(new URL("../programs/fleet-command.ts", import.meta.url));

/** `up` and `refresh` of all workspaces as a fleet, with its default limits, each in a process of its own as a user's is. */
export async function runFleet(given: RunGiven): Promise<SplitRun> {
  const { workspaces } = given;
  const stacks = Math.max(2, Math.round(workspaces / WORKSPACES_A_STACK));
  return await withPlace(given, async (place) => {
    const fleet = await createFleet(place, { stacks, update: given.update });
    const up = await fleet.run("up");
    const upCalls = await checkReport(up.result, { place, workspaces });
    const refresh = await fleet.run("refresh");
    const refreshCalls = await checkReport(refresh.result, { place, workspaces });
    const index = await fleet.run("bot-urls");
    return {
      split: "fleet",
      workspaces,
      stacks,
      upSeconds: up.seconds,
      refreshSeconds: refresh.seconds,
      peakBytes: largerPeak(up.peakBytes, refresh.peakBytes),
      upCalls,
      refreshCalls,
      indexedBotUrls: checkIndex(index.result, place),
    };
  });
}

interface Results {
  up: FleetReport;
  refresh: FleetReport;
  "bot-urls": Record<string, string>;
}

interface FleetCommands {
  run<Name extends keyof Results>(name: Name): Promise<CommandFigures & { result: Results[Name] }>;
}

async function createFleet(
  place: Place,
  { stacks, update }: { stacks: number } & Pick<RunGiven, "update">,
): Promise<FleetCommands> {
  const definition: FleetDefinition = {
    name: "bench",
    stacks,
    workspaces: place.workspaces,
    program: program.href,
    dataDir: join(place.folder, "data"),
  };
  const definitionFile = join(place.folder, "fleet.json");
  const resultFile = join(place.folder, "result.json");
  await writeFile(definitionFile, JSON.stringify(definition));
  return {
    run: async <Name extends keyof Results>(name: Name) => {
      update(name === "bot-urls" ? name : `${name}: 0 of ${stacks} stacks`);
      const figures = await place.measure({
        program: process.execPath,
        parameters: [command, name, definitionFile, resultFile],
        folder: place.folder,
        onLine: (line) => {
          if (/^\d+ of \d+ stacks$/.test(line)) update(`${name}: ${line}`);
        },
      });
      return { ...figures, result: JSON.parse(await readFile(resultFile, "utf8")) as Results[Name] };
    },
  };
}

/** Gives the calls that the service counted. They must be those of the report, and everything must be done. */
async function checkReport(
  { action, outcome, failures, calls }: FleetReport,
  { place, workspaces }: { place: Place; workspaces: number },
): Promise<Record<string, number>> {
  if (outcome !== "done") {
    const texts = failures.map(({ stack, message }) => `${stack}: ${message}`);
    throw new Error([`the fleet's ${action}: ${outcome}`, ...texts].join("\n"));
  }
  const service = await place.service.ask();
  requireRegistered(service, { workspaces });
  const counted = readCalls(service);
  const differs = Object.keys({ ...calls, ...counted }).find(
    (name) => (calls[name] ?? 0) !== (counted[name] ?? 0),
  );
  if (differs === undefined) return counted;
  throw new Error(
    `the fleet's ${action}: the report has ${calls[differs] ?? 0} calls of ${differs}, the service counted ${counted[differs] ?? 0}`,
  );
}

function checkIndex(botUrls: Record<string, string>, { workspaces }: Place): number {
  const missing = workspaces.find(({ name }) => !URL.canParse(botUrls[name] ?? ""));
  if (missing) throw new Error(`the index has no bot URL of ${missing.name}`);
  return Object.keys(botUrls).length;
}
