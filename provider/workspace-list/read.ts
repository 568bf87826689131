import { invalidConfig } from "../lib/files.js";
import { listNames } from "../lib/plain-text.js";
import { describeProblems, parse } from "../lib/validate.js";
import { readYamlFile } from "../lib/yaml-file.js";
import { type ListedWorkspace, listShape, type PlannedWorkspace, workspacesOf } from "./list-shape.js";

/**
 * Reads the workspaces of a fleet from a file of YAML or JSON. Throws `invalid_config`, which names the file,
 * line and field of each problem, but none of the values.
 */
export async function readWorkspaceList(path: string): Promise<ListedWorkspace[]> {
  // A YAML parser reads a CSV table as one long string.
  if (/\.csv$/i.test(path)) throw invalidConfig([`${path}: must be a YAML or JSON file, not CSV`]);
  return workspacesOf(await readYamlFile(path, listShape));
}

/** Reads the same file for `apichat webhook plan`, which needs the webhook URL of each workspace. */
export async function readPlannedWorkspaces(path: string): Promise<PlannedWorkspace[]> {
  const listed = await readWorkspaceList(path);
  const missing = listed.filter(({ webhookUrl }) => webhookUrl === undefined).map(({ name }) => name);
  if (missing.length === 0) return listed as PlannedWorkspace[];
  throw invalidConfig([
    `${path}: webhookUrl is missing for ${listNames(missing)}; ` +
      "set it for each workspace, or once at the top of the list",
  ]);
}

/** Checks workspaces that a program passes. Throws `invalid_config` with everything that is wrong with them. */
export function checkWorkspaces(workspaces: readonly unknown[]): ListedWorkspace[] {
  const { data, problems } = parse(listShape, { workspaces });
  if (problems) throw invalidConfig(describeProblems(problems));
  return workspacesOf(data);
}
