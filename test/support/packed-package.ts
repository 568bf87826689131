import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { root } from "./pages.ts";
/** The last TypeScript that takes `moduleResolution: node` without a complaint: that of older Pulumi templates. */
const typescriptOfTemplates = "~5.9.0";

/** `npm run suite versions` names the oldest one. */
const SDK_VERSION = process.env["PULUMI_APICHAT_SDK"] ?? packageJson.devDependencies["@pulumi/pulumi"];

/** Fresh projects outside the repository that have the packed tarball. */
export interface PackedPackage {
  folder: string;
  /** Installs the tarball, with what a TypeScript program on Pulumi has, and returns the project's folder. */
  install(manager: PackageManager): Promise<string>;
  /** Installs the tarball alone, and returns the project's folder. */
  installAlone(): Promise<string>;
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
  await execa("npm", ["pack", "--pack-destination", folder], { cwd: root });
  const tarball = `file:${join(folder, `${packageJson.name}-${packageJson.version}.tgz`)}`;
  const install = async (name: string, manager: PackageManager, project: object): Promise<string> => {
    const path = join(folder, name);
    await mkdir(path);
    await writeFile(join(path, "package.json"), JSON.stringify({ private: true, ...project }));
    const [command, ...args] = commands[manager] as [string, ...string[]];
    await execa(command, args, { cwd: path });
    return path;
  };
  const dependencies = { "pulumi-apichat": tarball };
  return {
    folder,
    install: (manager) => install(manager, manager, withPulumi(dependencies)),
    installAlone: () => install("alone", "npm", { dependencies }),
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function withPulumi(dependencies: object): object {
  const { devDependencies } = packageJson;
  return {
    dependencies: { ...dependencies, "@pulumi/pulumi": SDK_VERSION },
    devDependencies: { typescript: typescriptOfTemplates, "@types/node": devDependencies["@types/node"] },
  };
}
