import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ApiChatError } from "../errors/index.js";
import { invalidConfig } from "../lib/files.js";
import type { ListedWorkspace } from "../workspace-list/entry-shape.js";
import { checkWorkspaces, readWorkspaceList } from "../workspace-list/read.js";
import { describeIssues, inOurWords } from "../lib/validate.js";
import { definitionShape, type CheckedDefinition } from "./definition-shape.js";
import type { FleetDefinition } from "./definition.js";
import { indexStackName, stackName, stackOf } from "./placement.js";

/** A fleet whose definition is sound, with its workspaces and where each of them is. */
export interface ResolvedFleet {
  name: string;
  project: string;
  indexStack: string;
  /** URL of the module with the program. */
  program: string;
  /** Absolute. It need not exist. */
  dataDir: string;
  secretsProvider?: string;
  /** In the order of the list. */
  workspaces: readonly ListedWorkspace[];
  /** All of them, also those without a workspace. */
  stacks: readonly ResolvedStack[];
}

/** One stack of a fleet. */
export interface ResolvedStack {
  name: string;
  /** From 0. */
  index: number;
  workspaces: readonly ListedWorkspace[];
}

/** Checks a definition, reads the list, and splits the workspaces. Throws `invalid_config` with everything that is wrong. */
export async function resolveFleet(definition: FleetDefinition): Promise<ResolvedFleet> {
  const { data, error } = definitionShape.safeParse(definition, { error: inOurWords });
  const { workspaces, problems } = await openWorkspaces(definition);
  const all = [...describeIssues(error?.issues ?? []), ...(await problemsOfFiles(definition)), ...problems];
  if (data === undefined || all.length > 0) throw invalidConfig(all);
  return split(data, workspaces);
}

interface Opened {
  workspaces: ListedWorkspace[];
  problems: string[];
}

/** The list is looked at also if something else is wrong with the definition. */
async function openWorkspaces(definition: unknown): Promise<Opened> {
  const { data: given } = definitionShape.shape.workspaces.safeParse(fieldOf(definition, "workspaces"));
  if (given === undefined) return { workspaces: [], problems: [] };
  if (typeof given !== "string") return checkWorkspaces(given);
  try {
    return { workspaces: await readWorkspaceList(given), problems: [] };
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    return { workspaces: [], problems: [error.message] };
  }
}

async function problemsOfFiles(definition: unknown): Promise<string[]> {
  const { data: program } = definitionShape.shape.program.safeParse(fieldOf(definition, "program"));
  const { data: dataDir } = definitionShape.shape.dataDir.safeParse(fieldOf(definition, "dataDir"));
  const problems: string[] = [];
  if (program !== undefined && (await kindOfPath(fileURLToPath(program))) !== "file") {
    problems.push(
      `program: must be a file, and ${fileURLToPath(program)} is none; give the module of the program`,
    );
  }
  if (dataDir !== undefined && (await kindOfPath(resolve(dataDir))) === "file") {
    problems.push(`dataDir: must be a folder, and ${resolve(dataDir)} is a file; give another path`);
  }
  return problems;
}

async function kindOfPath(path: string): Promise<"file" | "folder" | "none"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch {
    // Why it cannot be looked at is no help: for the run it is not there.
    return "none";
  }
}

const fieldOf = (value: unknown, field: keyof FleetDefinition): unknown =>
  typeof value === "object" && value !== null ? (value as Partial<FleetDefinition>)[field] : undefined;

function split(definition: CheckedDefinition, workspaces: readonly ListedWorkspace[]): ResolvedFleet {
  const { name, stacks: count, program, project, secretsProvider, dataDir } = definition;
  const byStack = Map.groupBy(workspaces, (workspace) => stackOf(workspace.name, count));
  return {
    name,
    project,
    indexStack: indexStackName(name),
    program,
    dataDir: resolve(dataDir ?? join(dirname(fileURLToPath(program)), ".fleet", name)),
    ...(secretsProvider === undefined ? {} : { secretsProvider }),
    workspaces,
    stacks: Array.from({ length: count }, (_, index) => ({
      name: stackName(name, index, count),
      index,
      workspaces: byStack.get(index) ?? [],
    })),
  };
}
