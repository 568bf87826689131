import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { ApiChatError } from "../../../provider/errors/index.js";
import { readPlannedWorkspaces, readWorkspaceList } from "../../../provider/workspace-list/read.js";
import { makeFolder } from "../../support/folder.ts";

export const SECRET = "secret-word-0123456789";

export const ADDRESS = "https://platform.example";

const READERS = { fleet: readWorkspaceList, plan: readPlannedWorkspaces };

/** Returns what a reader reads from a file of this name. */
export async function read(fileName: string, content: string, reader: "fleet" | "plan" = "fleet") {
  const folder = await makeFolder();
  const path = join(folder, fileName);
  await writeFile(path, content);
  return READERS[reader](path);
}

/** Returns the lines of the error, from the file's name on, without the hint. Checks that they contain no secret. */
export async function problemsOf(
  fileName: string,
  content: string,
  reader: "fleet" | "plan" = "fleet",
): Promise<string[]> {
  const error = await read(fileName, content, reader).then(
    () => undefined,
    (reason: unknown) => reason as ApiChatError,
  );
  expect(error).toMatchObject({ code: "invalid_config", operation: "check" });
  expect(error?.message).not.toContain(SECRET);
  return (error?.message ?? "")
    .split("\n")
    .map((line) => line.replace(/^\S*apichat-test-[^/]+\//, "").replace(/;.*/, ""));
}

/** Sets a variable of the environment until the test ends. */
export function setVariable(name: string, value: string): void {
  process.env[name] = value;
  onTestFinished(() => {
    delete process.env[name];
  });
}
