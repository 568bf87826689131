import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import * as z from "zod";
import { readFileIfExists } from "../../lib/files.js";
import { parseYaml } from "../../lib/yaml-file.js";
import { type Check, failed, type Facts, type Finding, ok, type Project, skipped } from "./check.js";

const scalars = z.record(z.string(), z.unknown());

const projectFile = z.object({
  name: z.string(),
  runtime: z.union([
    z.string().transform((name) => ({ name, options: {} as z.output<typeof scalars> })),
    z.object({ name: z.string(), options: scalars.default({}) }),
  ]),
  main: z.string().default("."),
  packages: scalars.default({}),
});

/** The languages that programs on the resource plugin are in. */
const LANGUAGES = ["nodejs", "yaml", "python", "go", "java", "dotnet"];

/** Reads Pulumi.yaml. */
export async function readProject(path: string | undefined): Promise<Project | undefined> {
  if (path === undefined) return undefined;
  const { name, runtime, main, packages } = parseYaml(readFileIfExists(path) ?? "", projectFile, path);
  const root = dirname(path);
  const entry = resolve(root, main);
  const isFolder = await stat(entry).then(
    (info) => info.isDirectory(),
    () => false,
  );
  return {
    name,
    path,
    root,
    folder: isFolder ? entry : dirname(entry),
    mainFile: isFolder ? undefined : entry,
    runtime: runtime.name,
    options: runtime.options,
    isOnPlugin: runtime.name !== "nodejs" || "apichat" in packages,
    plugin: packages["apichat"],
  };
}

/** A check of the program in the current folder, if it concerns the program. */
export const ofProgram =
  (
    concerns: (project: Project) => boolean,
    inspect: (project: Project, facts: Facts) => Finding | Promise<Finding>,
  ): Check =>
  async (facts) => {
    const project = await facts.project;
    return project !== undefined && concerns(project) ? inspect(project, facts) : undefined;
  };

export const checkProgram: Check = async (facts) => {
  const project = await facts.project;
  if (project === undefined) return skipped("no Pulumi.yaml here or above");
  const { name, path, runtime } = project;
  if (!LANGUAGES.includes(runtime)) {
    return failed(
      `${name} has the runtime ${runtime}; this package works with ${LANGUAGES.join(", ")}`,
      `write the program in one of these: runtime in ${path}`,
    );
  }
  const provider = project.isOnPlugin ? `${runtime}, on the resource plugin` : "on the dynamic provider";
  return ok(`${name} (${path}), ${provider}`);
};
