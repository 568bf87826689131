import * as z from "zod";
import { describeProblems, parse } from "../lib/validate.js";
import { invalidConfig, readTextFile } from "../lib/files.js";
import { parseYaml } from "../lib/yaml-file.js";
import { parseCsvList } from "./csv-list.js";
import type { ListReader } from "./entry-shape.js";
import { entriesShape, listShape, toWorkspace, workspacesOf } from "./list-shape.js";
import type { ListedWorkspace, PlannedWorkspace } from "./entry-shape.js";

/**
 * Reads the workspaces of a fleet from a file: CSV if its name ends in ".csv", else YAML or JSON. Throws `invalid_config` with
 * everything that is wrong with it, each with file, line and field, and none of its values.
 */
export const readWorkspaceList = (path: string): Promise<ListedWorkspace[]> => readList(path, "fleet");

/** Reads the same file for `apichat webhook plan`, which needs the webhook URL of each workspace. */
export async function readPlannedWorkspaces(path: string): Promise<PlannedWorkspace[]> {
  const workspaces = await readList(path, "plan");
  // The shape has refused a list without it.
  return workspaces.map((workspace) => ({ ...workspace, webhookUrl: workspace.webhookUrl ?? "" }));
}

async function readList(path: string, reader: ListReader): Promise<ListedWorkspace[]> {
  const text = await readTextFile(path, "YAML, JSON or CSV");
  return path.toLowerCase().endsWith(".csv")
    ? parseCsvList(text, reader, path)
    : workspacesOf(parseYaml(text, listShape(reader), path));
}

/** Checks workspaces that a program gives. Throws `invalid_config` with everything that is wrong with them. */
export function checkWorkspaces(given: readonly unknown[]): ListedWorkspace[] {
  const shape = z.object({ workspaces: entriesShape("fleet") });
  const { data, problems } = parse(shape, { workspaces: given });
  if (problems) throw invalidConfig(describeProblems(problems));
  return data.workspaces.map((entry) => toWorkspace(entry));
}
