import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** The last TypeScript that takes `moduleResolution: node` without a complaint: that of older Pulumi templates. */
const typescriptOfTemplates = "~5.9.0";

/** Fresh projects outside the repository that have the packed tarball. */
export interface PackedPackage {
  folder: string;
  /** Installs the tarball, with what a TypeScript program on Pulumi has, and returns the project's folder. */
  install(manager: PackageManager): Promise<string>;
  remove(): Promise<void>;
}

export type PackageManager = keyof typeof commands;

const commands = {
  npm: ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund"],
  pnpm: ["pnpm", "install", "--prefer-offline"],
};

/** Packs the built package as it would be published. */
export async function packPackage(): Promise<PackedPackage> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "pulumi-apichat-pack-")));
  await execa("npm", ["pack", "--pack-destination", folder], { cwd: repository });
  const tarball = `file:${join(folder, `${packageJson.name}-${packageJson.version}.tgz`)}`;
  return {
    folder,
    install: async (manager) => {
      const project = join(folder, manager);
      await mkdir(project);
      await writeFile(join(project, "package.json"), JSON.stringify(describeProject(tarball)));
      const [command, ...args] = commands[manager] as [string, ...string[]];
      await execa(command, args, { cwd: project });
      return project;
    },
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function describeProject(tarball: string): object {
  const { devDependencies } = packageJson;
  return {
    private: true,
    dependencies: { "pulumi-apichat": tarball, "@pulumi/pulumi": devDependencies["@pulumi/pulumi"] },
    devDependencies: { typescript: typescriptOfTemplates, "@types/node": devDependencies["@types/node"] },
  };
}
