import { invalidConfig, readTextFile } from "../lib/files.js";
import { describeProblems, parse } from "../lib/validate.js";
import { parseYaml } from "../lib/yaml-file.js";
import { parseCsvList } from "./csv-list.js";
import {
  type ListedWorkspace,
  listShape,
  type ListReader,
  type PlannedWorkspace,
  workspacesOf,
} from "./list-shape.js";

/**
 * Reads the workspaces of a fleet from a file: CSV if its name ends in ".csv", else YAML or JSON. Throws
 * `invalid_config` with everything that is wrong with it, each with file, line and field, and none of its
 * values.
 */
export const readWorkspaceList = (path: string): Promise<ListedWorkspace[]> => readList(path, "fleet");

/**
 * Reads the same file for `apichat webhook plan`, which needs the webhook URL of each workspace: the shape
 * requires it.
 */
export const readPlannedWorkspaces = (path: string): Promise<PlannedWorkspace[]> =>
  readList(path, "plan") as Promise<PlannedWorkspace[]>;

async function readList(path: string, reader: ListReader): Promise<ListedWorkspace[]> {
  const text = await readTextFile(path, "YAML, JSON or CSV");
  return path.toLowerCase().endsWith(".csv")
    ? parseCsvList(text, reader, path)
    : workspacesOf(parseYaml(text, listShape(reader), path));
}

/** Checks workspaces that a program gives. Throws `invalid_config` with everything that is wrong with them. */
export function checkWorkspaces(workspaces: readonly unknown[]): ListedWorkspace[] {
  const { data, problems } = parse(listShape("fleet"), { workspaces });
  if (problems) throw invalidConfig(describeProblems(problems));
  return workspacesOf(data);
}
