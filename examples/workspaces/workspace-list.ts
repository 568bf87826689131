import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { parse } from "yaml";

/** What workspaces.yaml holds. */
export interface WorkspaceList {
  /** The receiver of all workspaces. */
  webhookUrl: string;
  workspaces: { name: string; baseUrl: string }[];
}

/** Reads the list; fails with one error that names everything that is wrong with it. */
export function readWorkspaceList(path: string): WorkspaceList {
  const list = readYaml(path);
  const problems = findProblems(list);
  if (problems.length > 0) throw new pulumi.RunError([`${path}:`, ...problems].join("\n  "));
  return list as WorkspaceList;
}

function readYaml(path: string): unknown {
  try {
    return parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new pulumi.RunError(`${path}: ${String(error)}`);
  }
}

function findProblems(list: unknown): string[] {
  const { webhookUrl, workspaces } = toRecord(list);
  const problems = isText(webhookUrl) ? [] : ["webhookUrl: must be the URL of the receiver"];
  if (!Array.isArray(workspaces) || workspaces.length === 0) {
    return [...problems, "workspaces: must be a list, each entry with name and baseUrl"];
  }
  const entries = workspaces.map(toRecord);
  return [...problems, ...entries.flatMap(findEntryProblems), ...findDuplicates(entries)];
}

function findEntryProblems({ name, baseUrl }: Record<string, unknown>, index: number): string[] {
  const problems: string[] = [];
  if (!isText(name) || !/^[A-Za-z0-9_-]+$/.test(name)) {
    problems.push(
      `workspaces[${index}].name: must be letters, digits, "_" and "-", got ${JSON.stringify(name)}`,
    );
  }
  if (!isText(baseUrl)) {
    problems.push(`workspaces[${index}].baseUrl: must be a URL, got ${JSON.stringify(baseUrl)}`);
  }
  return problems;
}

function findDuplicates(entries: Record<string, unknown>[]): string[] {
  const names = entries.map(({ name }) => name).filter(isText);
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return [...repeated].map((name) => `workspaces: "${name}" is there more than once`);
}

function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
