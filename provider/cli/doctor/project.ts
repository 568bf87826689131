import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { parseYaml } from "../../lib/yaml-file.js";

/** What Pulumi.yaml says of the program's provider. */
interface Project {
  /** Whether it uses the resource plugin: every program except one of Node.js that does not name it. */
  isOnPlugin: boolean;
  /** The source of the plugin as Pulumi.yaml names it. */
  plugin: string | undefined;
}

/** The settings of this provider in one stack, or in Pulumi.yaml for all of them. */
export interface StackSettings {
  /** Such as "stack dev", or "Pulumi.yaml". */
  place: string;
  baseUrl: string | undefined;
  hasApiKey: boolean;
}

const scalars = z.record(z.string(), z.unknown());

const projectShape = z.object({
  runtime: z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]),
  packages: scalars.default({}),
});

const pluginShape = z.union([z.string(), z.object({ source: z.string() }).transform(({ source }) => source)]);

/** Reads Pulumi.yaml. */
export async function readProject(path: string): Promise<Project> {
  const { runtime, packages } = parseYaml(await readFile(path, "utf8"), projectShape, path);
  return {
    isOnPlugin: runtime !== "nodejs" || "apichat" in packages,
    plugin: pluginShape.safeParse(packages["apichat"]).data,
  };
}

/** Reads the settings of Pulumi.yaml, and of the stacks next to it, in files such as Pulumi.dev.yaml. */
export async function readStacks(projectFile: string | undefined): Promise<StackSettings[]> {
  if (projectFile === undefined) return [];
  const folder = dirname(projectFile);
  const names = (await readdir(folder)).filter((name) => /^Pulumi\..+\.ya?ml$/.test(name)).toSorted();
  return Promise.all([projectFile, ...names.map((name) => join(folder, name))].map(readStack));
}

const stackShape = z.nullable(z.object({ config: z.nullish(scalars) }));

/** Pulumi.yaml has the value in an object, because the name is of a different namespace. */
const projectValue = z.object({ value: z.unknown() }).transform(({ value }) => value);
const valueOf = (setting: unknown): unknown => projectValue.safeParse(setting).data ?? setting;

async function readStack(path: string): Promise<StackSettings> {
  const config = parseYaml(await readFile(path, "utf8"), stackShape, path)?.config ?? {};
  const baseUrl = valueOf(config["apichat:baseUrl"]);
  return {
    place: basename(path).replace(/^Pulumi\.(.+)\.ya?ml$/, "stack $1"),
    baseUrl: typeof baseUrl === "string" ? baseUrl : undefined,
    hasApiKey: config["apichat:apiKey"] !== undefined,
  };
}
