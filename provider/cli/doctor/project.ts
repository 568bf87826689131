import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { readFileIfExists } from "../../lib/files.js";
import { parseYaml } from "../../lib/yaml-file.js";
import { type Check, failed, type Finding, findProgram, ok, skipped, type Surroundings } from "./check.js";

const scalars = z.record(z.string(), z.unknown());

const projectFile = z.object({
  name: z.string(),
  runtime: z.union([
    z.string().transform((name) => ({ name, options: {} as z.output<typeof scalars> })),
    z.object({ name: z.string(), options: scalars.default({}) }),
  ]),
  main: z.string().optional(),
  packages: scalars.optional(),
});

/** A Pulumi program, as its Pulumi.yaml describes it. */
export interface Project {
  name: string;
  /** The path of Pulumi.yaml. */
  path: string;
  /** The folder of Pulumi.yaml. */
  root: string;
  /** The working directory of the program, which packages and tsconfig.json are looked up from: the one of `main`. */
  folder: string;
  /** The file that `main` names. */
  mainFile: string | undefined;
  runtime: string;
  options: Record<string, unknown>;
  /** Whether it uses the resource plugin: every program but one of Node.js that does not name it. */
  isOnPlugin: boolean;
  /** What Pulumi.yaml names the plugin by. */
  plugin: unknown;
}

/** The languages that programs on the resource plugin are in. */
const LANGUAGES = ["nodejs", "yaml", "python", "go", "java", "dotnet"];

/** Reads Pulumi.yaml of this folder or the nearest one above. Returns undefined if there is none. */
async function readProject(folder: string): Promise<Project | undefined> {
  const found = await findProgram(folder);
  if (found === undefined) return undefined;
  const path = join(found.folder, found.file);
  const {
    name,
    runtime,
    main = ".",
    packages = {},
  } = parseYaml(readFileIfExists(path) ?? "", projectFile, path);
  const entry = resolve(found.folder, main);
  const isFolder = await stat(entry).then(
    (info) => info.isDirectory(),
    () => false,
  );
  return {
    name,
    path,
    root: found.folder,
    folder: isFolder ? entry : dirname(entry),
    mainFile: isFolder ? undefined : entry,
    runtime: runtime.name,
    options: runtime.options,
    isOnPlugin: runtime.name !== "nodejs" || "apichat" in packages,
    plugin: packages["apichat"],
  };
}

/** A check of the program in the current folder, if it concerns the program. */
export const programCheck = (
  name: string,
  concerns: (project: Project) => boolean,
  inspect: (project: Project, surroundings: Surroundings) => Finding | Promise<Finding>,
): Check => ({
  name,
  run: async (surroundings) => {
    const project = await readProject(surroundings.folder);
    return project !== undefined && concerns(project) ? inspect(project, surroundings) : undefined;
  },
});

export const isOnPlugin = (project: Project): boolean => project.isOnPlugin;

export const isOnDynamic = (project: Project): boolean => !project.isOnPlugin;

export const isNode = ({ runtime }: Project): boolean => runtime === "nodejs";

export const projectCheck: Check = {
  name: "program",
  run: async ({ folder }) => {
    const project = await readProject(folder);
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
  },
};
