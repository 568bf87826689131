import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commandsIn, type Command } from "./command.ts";
import { pluginFolder } from "./plugin.ts";
import { argsOf, type Declaration, type Scene } from "./scene.ts";
import type { Backend } from "./stack.ts";
import { root } from "./pages.ts";
/**
 * A program in a folder, run with the CLI as a user runs it: the engine, the language host, the program and
 * the provider are separate processes.
 */
export interface ProgramFolder {
  path: string;
  /** Starts a `pulumi` command, and does not wait until it ends. */
  start(...parameters: string[]): Command;
  /** Runs a command that must succeed, and returns its output. */
  run(...parameters: string[]): Promise<string>;
  /** Runs a command that must fail, and returns its output. */
  fails(...parameters: string[]): Promise<string>;
  /** The output of all commands so far. */
  printed(): string;
}

/** Opens the folder of a program. Every command gets the variables in `environment`. */
export function openProgramFolder(
  backend: Backend,
  path: string,
  environment: Record<string, string> = {},
): ProgramFolder {
  const startCommand = commandsIn(path, { ...backend.environment, ...environment });
  const commands: Command[] = [];
  const start = (...parameters: string[]): Command => {
    const command = startCommand("pulumi", ...parameters, "--non-interactive");
    commands.push(command);
    return command;
  };
  const finish = async (parameters: string[], isExpected: (exitCode?: number) => boolean) => {
    const { exitCode, output } = await start(...parameters).done;
    if (!isExpected(exitCode)) throw new Error(`${parameters.join(" ")} exited with ${exitCode}:\n${output}`);
    return output;
  };
  return {
    path,
    start,
    run: (...parameters) => finish(parameters, (exitCode) => exitCode === 0),
    fails: (...parameters) => finish(parameters, (exitCode) => exitCode !== 0),
    printed: () => commands.map((command) => command.output()).join("\n"),
  };
}

/** Copies an example into the backend's folder, and links the repository's node_modules there. */
export async function copyExample(
  backend: Backend,
  example: string,
  environment: Record<string, string> = {},
): Promise<ProgramFolder> {
  const path = join(backend.folder, "programs", example);
  await cp(join(root, "examples", example), path, {
    recursive: true,
    filter: (source) => !/(node_modules|target|\.fleet|\/state|Pulumi\.[^/]+\.yaml)$/.test(source),
  });
  await symlink(join(root, "node_modules"), join(path, "node_modules"));
  return openProgramFolder(backend, path, environment);
}

/** A program with a stack. A file lists the webhooks that the program declares. */
export interface Project extends ProgramFolder {
  /** Changes the declared webhooks for the next command. */
  declare(declarations: readonly Declaration[]): Promise<void>;
  /** Reads the state as the engine has written it so far, even while a command is in progress. */
  state(): Promise<string>;
}

const PROGRAM = `import { readFileSync } from "node:fs";
import { ApiChatWebhook } from "pulumi-apichat";

const declarations = JSON.parse(readFileSync("webhooks.json", "utf8"));
for (const { name, args, options } of declarations) new ApiChatWebhook(name, args, options);
`;

/** Creates a project with the stack `dev` on the scene's backend. */
export async function createProject(scene: Scene, environment?: Record<string, string>): Promise<Project> {
  const path = join(scene.backend.folder, "project");
  await mkdir(path);
  await symlink(join(root, "node_modules"), join(path, "node_modules"));
  await writeFile(join(path, "Pulumi.yaml"), "name: project\nruntime: nodejs\n");
  await writeFile(join(path, "package.json"), '{ "type": "module", "main": "index.js" }\n');
  await writeFile(join(path, "index.js"), PROGRAM);
  const folder = openProgramFolder(scene.backend, path, environment);
  return openProject(scene, folder, (declared) =>
    writeFile(join(path, "webhooks.json"), JSON.stringify(declared)),
  );
}

/** A YAML project that uses the resource plugin. */
export interface YamlProject extends Project {
  /** Writes a program with these resources and outputs. */
  write(program: object): Promise<void>;
}

export async function createYamlProject(
  scene: Scene,
  environment?: Record<string, string>,
): Promise<YamlProject> {
  const path = join(scene.backend.folder, "yaml");
  const write = (program: object): Promise<void> => {
    const packages = { apichat: pluginFolder };
    // JSON is YAML.
    const text = JSON.stringify({ name: "project", runtime: "yaml", packages, ...program });
    return writeFile(join(path, "Pulumi.yaml"), text);
  };
  await mkdir(path);
  await write({});
  const folder = openProgramFolder(scene.backend, path, environment);
  const project = await openProject(scene, folder, (declared) => {
    const resources = declared.map(({ name, args: properties, options = {} }) => [
      name,
      { type: "apichat:ApiChatWebhook", properties, options },
    ]);
    return write({ resources: Object.fromEntries(resources) as object });
  });
  return { ...project, write };
}

type Declared = Required<Pick<Declaration, "name" | "args">> & Pick<Declaration, "options">;

async function openProject(
  scene: Scene,
  folder: ProgramFolder,
  write: (declared: readonly Declared[]) => Promise<void>,
): Promise<Project> {
  await folder.run("stack", "init", "dev");
  return {
    ...folder,
    declare: (declarations) =>
      write(
        declarations.map((declaration) => {
          const { name = declaration.workspace, options } = declaration;
          return { name, args: argsOf(scene, declaration), options };
        }),
      ),
    state: () => readFile(join(scene.backend.folder, ".pulumi", "stacks", "project", "dev.json"), "utf8"),
  };
}
