import { invalidConfig } from "../lib/files.js";
import { describeProblems, parse } from "../lib/validate.js";
import { readYamlFile } from "../lib/yaml-file.js";
import {
  type ListedWorkspace,
  listShape,
  type ListReader,
  type PlannedWorkspace,
  workspacesOf,
} from "./list-shape.js";

/**
 * Reads the workspaces of a fleet from a file of YAML or JSON. Throws `invalid_config` with everything that is
 * wrong with it, each with file, line and field, and none of its values.
 */
export const readWorkspaceList = (path: string): Promise<ListedWorkspace[]> => readList(path, "fleet");

/** Reads the same file for `apichat webhook plan`. The shape then requires the webhook URL of each workspace. */
export const readPlannedWorkspaces = (path: string): Promise<PlannedWorkspace[]> =>
  readList(path, "plan") as Promise<PlannedWorkspace[]>;

async function readList(path: string, reader: ListReader): Promise<ListedWorkspace[]> {
  // To a parser of YAML a table is one long string.
  if (/\.csv$/i.test(path)) throw invalidConfig([`${path}: must be a YAML or JSON file, not CSV`]);
  return workspacesOf(await readYamlFile(path, listShape(reader)));
}

/** Checks workspaces that a program gives. Throws `invalid_config` with everything that is wrong with them. */
export function checkWorkspaces(workspaces: readonly unknown[]): ListedWorkspace[] {
  const { data, problems } = parse(listShape("fleet"), { workspaces });
  if (problems) throw invalidConfig(describeProblems(problems));
  return workspacesOf(data);
}
