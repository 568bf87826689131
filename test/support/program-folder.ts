import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import type { Backend } from "./stack.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** A Pulumi program in a folder, driven with the real CLI as a user does. */
export interface ProgramFolder {
  path: string;
  /** Runs `pulumi` there to its end; `input` is what a person would type at its prompt. */
  pulumi(
    args: string[],
    options?: { input?: string; environment?: Record<string, string> },
  ): Promise<CliOutcome>;
  /** Everything that every command printed so far. */
  printed(): string;
}

interface CliOutcome {
  exitCode: number | undefined;
  stdout: string;
  /** Both streams, in the order of printing. */
  output: string;
}

/** A copy of an example in the folder of the backend; it finds the repository's packages. */
export async function copyExample(backend: Backend, example: string): Promise<ProgramFolder> {
  const path = join(backend.folder, "programs", example);
  await mkdir(path, { recursive: true });
  await cp(join(repository, "examples", example), path, {
    recursive: true,
    filter: (source) => !/node_modules$|Pulumi\.[^/]+\.yaml$/.test(source),
  });
  await symlink(join(repository, "node_modules"), join(path, "node_modules"));
  return openProgramFolder(backend, path);
}

export function openProgramFolder(backend: Backend, path: string): ProgramFolder {
  let printed = "";
  return {
    path,
    pulumi: async (args, { input = "", environment = {} } = {}) => {
      const { exitCode, stdout, all } = await execa("pulumi", [...args, "--non-interactive"], {
        cwd: path,
        env: { ...backend.environment, ...environment },
        extendEnv: false,
        input,
        all: true,
        reject: false,
      });
      printed += `${all}\n`;
      return { exitCode, stdout, output: all };
    },
    printed: () => printed,
  };
}
