import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { MIN_PULUMI } from "../../provider/lib/version.js";
import { makeFolder } from "./folder.ts";
import { root } from "./pages.ts";

/**
 * The last TypeScript that does not warn about `moduleResolution: node`, which Pulumi's older project
 * templates set.
 */
const typescriptOfTemplates = "~5.9.0";

/** Two suites use these versions of Pulumi's SDK; all other suites use the version in package.json. */
const SDK_OF_SUITE: Record<string, string> = { "sdk-oldest": MIN_PULUMI, "sdk-newest": "latest" };

/** Returns the SDK's version. Asks the registry for it, because npm's cache may contain an older `latest`. */
async function resolveSdk(): Promise<string> {
  const wanted = SDK_OF_SUITE[process.env["TEST_SUITE"] ?? ""];
  if (wanted === undefined) return packageJson.devDependencies["@pulumi/pulumi"];
  const { stdout } = await execa("npm", ["view", `@pulumi/pulumi@${wanted}`, "version"]);
  console.log(`@pulumi/pulumi ${stdout}`);
  return stdout;
}

/** Installs the packed tarball in new projects outside the repository, which are removed after the tests. */
export interface PackedPackage {
  folder: string;
  /**
   * Uses pnpm to install the tarball and the dependencies of a Pulumi program in TypeScript. Returns the
   * project's folder.
   */
  install(): Promise<string>;
  /** Installs the tarball alone with npm, and returns the project's folder. */
  installAlone(): Promise<string>;
}

/** Packs the built package as it would be published. */
export async function packPackage(): Promise<PackedPackage> {
  const folder = await makeFolder();
  await execa("npm", ["pack", "--pack-destination", folder], { cwd: root });
  const tarball = `file:${join(folder, `${packageJson.name}-${packageJson.version}.tgz`)}`;
  const install = async (manager: string, project: object, options: string[] = []): Promise<string> => {
    const path = join(folder, manager);
    await mkdir(path);
    await writeFile(join(path, "package.json"), JSON.stringify({ private: true, ...project }));
    await execa(manager, ["install", "--prefer-offline", ...options], { cwd: path });
    return path;
  };
  const dependencies = { "pulumi-apichat": tarball };
  const withPulumi = {
    dependencies: { ...dependencies, "@pulumi/pulumi": await resolveSdk() },
    devDependencies: {
      typescript: typescriptOfTemplates,
      "@types/node": packageJson.devDependencies["@types/node"],
    },
  };
  return {
    folder,
    install: () => install("pnpm", withPulumi),
    installAlone: () => install("npm", { dependencies }, ["--no-audit", "--no-fund"]),
  };
}
